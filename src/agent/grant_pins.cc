// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_pins.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "json/json.h"

namespace tessera::agent {
namespace {

constexpr size_t kNameBytes = 16;
constexpr std::string_view kSuffix = ".json";
constexpr int kPinVersion = 1;

}  // namespace

std::string PinText(const Pin& pin) {
  json::Array parts;
  for (const VgpuPart& part : pin.parts) {
    parts.push_back(
        json::Object{{"device", part.device}, {"memory", part.memory}, {"cores", part.cores}});
  }
  return json::WritePretty(json::Object{{"version", kPinVersion},
                                        {"resource", pin.resource},
                                        {"pod", pin.pod_uid},
                                        {"container", pin.container},
                                        {"directory", pin.directory},
                                        {"parts", std::move(parts)}});
}

Result<Pin> ReadPin(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  const json::Object* object = value.if_object();
  const json::Array* parts = object == nullptr ? nullptr : json::GetArray(*object, "parts");
  if (parts == nullptr || json::GetInt(*object, "version") != kPinVersion) {
    return Fail(Reason::kStateCorrupt, "it is no record of a grant");
  }
  Pin pin{.resource = json::GetString(*object, "resource").value_or(""),
          .pod_uid = json::GetString(*object, "pod").value_or(""),
          .container = json::GetString(*object, "container").value_or(""),
          .directory = json::GetString(*object, "directory").value_or(""),
          .parts = {}};
  for (const json::Value& item : *parts) {
    const json::Object* part = item.if_object();
    if (part == nullptr) return Fail(Reason::kStateCorrupt, "it has a part that is none");
    pin.parts.push_back({.device = json::GetString(*part, "device").value_or(""),
                         .memory = json::GetInt(*part, "memory").value_or(0),
                         .cores = static_cast<int>(json::GetInt(*part, "cores").value_or(0))});
  }
  const bool whole = !pin.parts.empty() && std::ranges::all_of(pin.parts, [](const VgpuPart& part) {
    return !part.device.empty() && part.memory > 0 && part.cores > 0;
  });
  if (!whole) return Fail(Reason::kStateCorrupt, "it does not say what was granted");
  return pin;
}

std::string NewGrantName() {
  std::array<uint8_t, kNameBytes> bytes{};
  // Fails for more than 256 bytes alone.
  (void)getentropy(bytes.data(), bytes.size());
  std::string name;
  for (const uint8_t byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

bool IsGrantName(std::string_view name) {
  return name.size() == 2 * kNameBytes &&
         std::ranges::all_of(name, [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

std::string GrantPins::PathOf(const std::string& grant) const {
  return fmt::format("{}/{}{}", directory_, grant, kSuffix);
}

Result<std::optional<Pin>> GrantPins::Find(const std::string& grant) {
  std::lock_guard lock(mutex_);
  if (const auto known = known_.find(grant); known != known_.end()) return known->second;
  const std::string path = PathOf(grant);
  const auto text = os::ReadFile(path);
  if (!text && text.error().reason == Reason::kNotFound) return std::nullopt;
  // What cannot be read may say something else than the configuration does by now.
  if (!text) return Fail(text.error());
  const auto pin = ReadPin(*text);
  if (!pin) {
    return Fail(Reason::kGrantUnknown, "{} does not say what the container was granted: {}", path,
                pin.error().message);
  }
  known_[grant] = *pin;
  return *pin;
}

Status GrantPins::Add(const std::string& grant, const Pin& pin) {
  TRY(os::MakeDirectories(directory_, 0700));
  TRY(os::WriteFileAtomically(PathOf(grant), PinText(pin)));
  std::lock_guard lock(mutex_);
  known_[grant] = pin;
  return {};
}

void GrantPins::Remove(const std::string& grant) {
  (void)os::RemoveFile(PathOf(grant));
  std::lock_guard lock(mutex_);
  known_.erase(grant);
}

Result<std::vector<std::string>> GrantPins::Grants() const {
  std::vector<std::string> grants;
  for (const std::string& file : TRY(os::ListDirectory(directory_))) {
    if (!file.ends_with(kSuffix)) continue;
    std::string grant = file.substr(0, file.size() - kSuffix.size());
    if (IsGrantName(grant)) grants.push_back(std::move(grant));
  }
  return grants;
}

}  // namespace tessera::agent
