// SPDX-License-Identifier: Apache-2.0
#include "agent/release.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "os/files.h"

namespace tessera::agent {

VendorLibraries LibrariesOf(ResourceSet& resources) {
  return {.set_released = [&](auto released) { resources.SetReleased(std::move(released)); },
          .released = [&] { return resources.Released(); },
          .held_by = [&] { return resources.ReleaseHeldBy(); }};
}

Release::Release(os::Loop& loop, VendorLibraries libraries, std::string path)
    : loop_(loop), libraries_(std::move(libraries)), path_(std::move(path)) {}

void Release::Restore(const std::string& boot_id) {
  boot_id_ = boot_id;
  const auto text = os::ReadFile(path_);
  if (!text) return;
  const auto saved = json::Parse(*text);
  const json::Object order = saved && saved->is_object() ? saved->get_object() : json::Object();
  const Steady until(Duration(json::GetInt(order, "until").value_or(0)));
  const Duration left = until - SystemClock().Now();
  const bool same_boot = json::GetString(order, "bootId").value_or("") == boot_id_;
  if (!same_boot || left <= Duration(0) || left > kLongest) return (void)os::RemoveFile(path_);
  Hold(until);
  log::Info("vendors' libraries stay closed", {{"until", until_text_}});
}

void Release::Hold(Steady until) {
  until_ = until;
  const Duration left = until - SystemClock().Now();
  until_text_ = FormatTime(SystemClock().WallNow() + left);
  timer_ = loop_.After(left, [this] { (void)End(); });
  libraries_.set_released(
      Error{Reason::kReleased, fmt::format("closed by 'tessera release' until {}", until_text_)});
}

Status Release::Begin(Duration time) {
  if (time <= Duration(0) || time > kLongest) {
    return Fail(Reason::kInvalid, "the time must be above 0 and at most {}",
                FormatDuration(kLongest));
  }
  Hold(SystemClock().Now() + time);
  const std::vector<std::string> released = libraries_.released();
  if (released.empty()) {
    (void)End();
    return Fail(Reason::kNotFound, "no resource of this node holds a vendor's library");
  }
  Save();
  log::Info("vendors' libraries are closed",
            {{"resources", Join(released, ", ")}, {"until", until_text_}});
  return {};
}

// If the file cannot be written, the order still holds for this process.
void Release::Save() const {
  const json::Object order{{"bootId", boot_id_}, {"until", until_->time_since_epoch().count()}};
  if (Status saved = os::ReplaceFile(path_, json::Write(order) + "\n"); !saved) {
    log::Warn("the release cannot be saved and ends with this process", saved.error());
  }
}

Status Release::End() {
  if (!until_) return Fail(Reason::kNotFound, "nothing is released");
  until_.reset();
  timer_ = os::Loop::Handle();
  const std::vector<std::string> released = libraries_.released();
  libraries_.set_released({});
  (void)os::RemoveFile(path_);
  if (!released.empty()) {
    log::Info("vendors' libraries are opened again", {{"resources", Join(released, ", ")}});
  }
  return {};
}

json::Value Release::Page() const {
  const std::vector<std::string> released = libraries_.released();
  const std::vector<std::string> held = libraries_.held_by();
  return json::Object{{"until", until_ ? json::Value(until_text_) : json::Value(nullptr)},
                      {"resources", json::Array(released.begin(), released.end())},
                      {"heldBy", json::Array(held.begin(), held.end())}};
}

}  // namespace tessera::agent
