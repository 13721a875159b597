// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_conflicts.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "cdi/cdi_reading.h"

namespace tessera {
namespace {

constexpr char kConflict[] = "two CDI documents name one device, and no runtime injects it";

std::set<std::string> DevicesAt(const std::string& path) {
  const auto document = ReadCdiFile(path);
  if (!document) return {};  // a runtime ignores it too
  const std::vector<std::string> names = DevicesIn(*document);
  return {names.begin(), names.end()};
}

bool IsNeeded(const std::string& path, const std::set<std::string>& held) {
  return std::ranges::any_of(DevicesAt(path), [&](const std::string& device) {
    return held.contains(device.substr(device.find('=') + 1));
  });
}

// Differs for each file that ever stands at the path.
std::string IdentityOf(const std::string& path) {
  const auto info = os::Inspect(path);
  return info ? fmt::format("{}:{}:{}", info->device, info->inode, info->changed_ns) : "gone";
}

}  // namespace

void CdiConflicts::Read(const std::string& path) {
  const auto info = os::InspectTarget(path);
  if (!info) return;
  Foreign& foreign = foreign_[path];
  if (foreign.info == *info) return;
  foreign = {.info = *info, .devices = DevicesAt(path)};
}

void CdiConflicts::LookForConflicts() {
  const std::map<std::string, Foreign> former = std::exchange(foreign_, {});
  for (const std::string& directory : documents_.Directories()) {
    for (const std::string& name :
         os::ListDirectory(directory).value_or(std::vector<std::string>())) {
      const std::string path = directory + "/" + name;
      if (!IsCdiFile(name) || documents_.entries().contains(path)) continue;
      if (const auto known = former.find(path); known != former.end()) foreign_.insert(*known);
      Read(path);
    }
  }
  std::set<std::string> told;
  for (const auto& [path, foreign] : foreign_) {
    for (const auto& [own, entry] : documents_.entries()) {
      if (path.substr(0, path.rfind('/')) != own.substr(0, own.rfind('/'))) continue;
      const auto both = std::ranges::find_if(entry.devices, [&foreign = foreign](const auto& name) {
        return foreign.devices.contains(name);
      });
      if (both == entry.devices.end()) continue;
      Error error{Reason::kCdiConflict, fmt::format("{} and {} both name {}", own, path, *both)};
      if (!told_.contains(error.message)) {
        log::LogError(kConflict, error);
        metrics_.Add(http::Metric::kUnusable, {std::string(ReasonName(error.reason))});
        documents_.ReportError({.reason = "CdiConflict",
                                .path = own,
                                .message = fmt::format("{}: {}", kConflict, error.Text())});
      }
      told.insert(std::move(error.message));
    }
  }
  told_ = std::move(told);
}

Status CdiConflicts::ReadRecord() {
  auto text = os::ReadFile(record_);
  if (!text && text.error().reason != Reason::kNotFound) return Fail(text.error());
  recorded_ = text.value_or("");
  for (const std::string& line : Split(*recorded_, '\n')) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) stale_[line.substr(space + 1)] = line.substr(0, space);
  }
  return {};
}

void CdiConflicts::WriteRecord() {
  std::map<std::string, std::string> files = stale_;
  for (const auto& [path, entry] : documents_.entries()) {
    if (entry.file.written()) files[path] = IdentityOf(path);
  }
  std::string text;
  for (const auto& [path, identity] : files) text += fmt::format("{} {}\n", identity, path);
  if (text == *recorded_ || !os::ReplaceFile(record_, text)) return;
  recorded_ = std::move(text);
}

Status CdiConflicts::RemoveStale(const std::function<std::set<std::string>()>& held) {
  if (!recorded_) TRY(ReadRecord());
  Status all;
  for (auto at = stale_.begin(); at != stale_.end();) {
    const auto& [path, identity] = *at;
    const bool ours = !documents_.entries().contains(path) && IdentityOf(path) == identity;
    if (ours && IsNeeded(path, held())) {
      ++at;
      continue;
    }
    if (const Status removed = ours ? os::RemoveFile(path) : Status(); !removed) {
      all = removed;
      ++at;
      continue;
    }
    if (ours) {
      log::Info("removed a CDI document that no resource uses", {{"path", path}});
    }
    at = stale_.erase(at);
  }
  WriteRecord();
  return all;
}

}  // namespace tessera
