// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_pins.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/bind/state_mount.h"
#include "base/characters.h"
#include "json/json.h"

namespace tessera::agent {
namespace {

constexpr size_t kNameBytes = 16;
constexpr std::string_view kSuffix = ".json";
constexpr int kPinVersion = 1;
constexpr Duration kPatience{1'000};

using hami::ContainerKind;
constexpr std::pair<ContainerKind, std::string_view> kKinds[] = {
    {ContainerKind::kInit, "init"},
    {ContainerKind::kSidecar, "sidecar"},
    {ContainerKind::kApp, "app"}};

std::string_view KindName(ContainerKind kind) {
  return std::ranges::find(kKinds, kind, &std::pair<ContainerKind, std::string_view>::first)
      ->second;
}

std::optional<ContainerKind> ReadKind(const json::Object& container) {
  const std::string name = json::GetString(container, "kind").value_or("");
  for (const auto& [kind, known] : kKinds) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

json::Array PartsJson(const std::vector<VgpuPart>& parts) {
  json::Array array;
  for (const VgpuPart& part : parts) {
    array.push_back(
        json::Object{{"device", part.device}, {"memory", part.memory}, {"cores", part.cores}});
  }
  return array;
}

Result<std::vector<std::string>> ReadIds(const json::Object& object) {
  const json::Array* array = json::GetArray(object, "ids");
  std::vector<std::string> ids;
  for (const json::Value& id : array == nullptr ? json::Array() : *array) {
    if (!id.is_string()) return Fail(Reason::kStateCorrupt, "it has an id that is none");
    ids.emplace_back(id.get_string());
  }
  return ids;
}

Result<std::vector<VgpuPart>> ReadParts(const json::Object& object) {
  const json::Array* array = json::GetArray(object, "parts");
  std::vector<VgpuPart> parts;
  for (const json::Value& item : array == nullptr ? json::Array() : *array) {
    const json::Object* part = item.if_object();
    if (part == nullptr) return Fail(Reason::kStateCorrupt, "it has a part that is none");
    parts.push_back({.device = json::GetString(*part, "device").value_or(""),
                     .memory = json::GetInt(*part, "memory").value_or(0),
                     .cores = static_cast<int>(json::GetInt(*part, "cores").value_or(-1))});
  }
  const bool whole = !parts.empty() && std::ranges::all_of(parts, [](const VgpuPart& part) {
    return !part.device.empty() && part.memory > 0 && part.cores >= 0;
  });
  if (!whole) return Fail(Reason::kStateCorrupt, "it does not say what was granted");
  return parts;
}

}  // namespace

std::string PinText(const Pin& pin) {
  json::Object object{{"version", kPinVersion},      {"resource", pin.resource},
                      {"pod", pin.pod_uid},          {"container", pin.container},
                      {"directory", pin.directory},  {"parts", PartsJson(pin.parts)},
                      {"controlled", pin.controlled}};
  if (!pin.ids.empty()) object["ids"] = json::Array(pin.ids.begin(), pin.ids.end());
  if (!pin.library.empty()) object["library"] = pin.library;
  if (!pin.gate.empty()) object["gate"] = pin.gate;
  json::Array decision;
  for (const DecidedContainer& container : pin.decision) {
    decision.push_back(json::Object{{"container", container.name},
                                    {"kind", KindName(container.kind)},
                                    {"parts", PartsJson(container.parts)}});
  }
  if (!decision.empty()) object["decision"] = std::move(decision);
  if (pin.fitted) object["fitted"] = true;
  return json::WritePretty(std::move(object));
}

Result<Pin> ReadPin(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  const json::Object* object = value.if_object();
  if (object == nullptr || json::GetInt(*object, "version") != kPinVersion) {
    return Fail(Reason::kStateCorrupt, "it is no record of a grant");
  }
  Pin pin{.resource = json::GetString(*object, "resource").value_or(""),
          .pod_uid = json::GetString(*object, "pod").value_or(""),
          .container = json::GetString(*object, "container").value_or(""),
          .directory = json::GetString(*object, "directory").value_or(""),
          .parts = TRY(ReadParts(*object)),
          .controlled = json::GetBool(*object, "controlled").value_or(true),
          .library = json::GetString(*object, "library").value_or(""),
          .fitted = json::GetBool(*object, "fitted").value_or(false),
          .gate = json::GetString(*object, "gate").value_or(""),
          .ids = TRY(ReadIds(*object))};
  const json::Array* decision = json::GetArray(*object, "decision");
  if (decision == nullptr) return pin;
  for (const json::Value& item : *decision) {
    const json::Object* container = item.if_object();
    const auto kind = container == nullptr ? std::nullopt : ReadKind(*container);
    if (!kind) return Fail(Reason::kStateCorrupt, "it has a container that is none");
    pin.decision.push_back({.name = json::GetString(*container, "container").value_or(""),
                            .kind = *kind,
                            .parts = TRY(ReadParts(*container))});
  }
  return pin;
}

bool IsOwnDirectory(const Pin& pin, const std::string& name) {
  const bool by_pod = !pin.decision.empty() && !pin.container.empty();
  return pin.directory.ends_with(by_pod ? "_" + pin.container : "/" + name);
}

std::string NewGrantName() {
  std::array<uint8_t, kNameBytes> bytes{};
  arc4random_buf(bytes.data(), bytes.size());
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

Result<PinPtr> GrantPins::Find(const std::string& grant, const Names* written) {
  std::lock_guard lock(mutex_);
  if (const auto known = known_.find(grant); known != known_.end()) return known->second;
  if (written != nullptr && !written->contains(grant)) return nullptr;
  const std::string path = PathOf(grant);
  const auto text = os::ReadFile(path);
  if (!text && text.error().reason == Reason::kNotFound) return nullptr;
  // What cannot be read may say something else than the configuration does by now.
  if (!text) return Fail(text.error());
  auto pin = ReadPin(*text);
  if (!pin) {
    return Fail(Reason::kGrantUnknown, "{} does not say what the container was granted: {}", path,
                pin.error().message);
  }
  return known_[grant] = std::make_shared<const Pin>(*std::move(pin));
}

Result<os::FileLock> GrantPins::Lock() {
  if (const Status made = os::MakeDirectories(directory_, 0700); !made) {
    return Fail(AboutStateMount(made.error(), directory_.substr(0, directory_.rfind('/'))));
  }
  return os::FileLock::TakeWithin(directory_ + ".lock", kPatience);
}

bool GrantPins::IsShared(const std::string& directory, const std::string& grant) {
  const auto grants = Grants();
  return grants && std::ranges::any_of(*grants, [&](const std::string& other) {
           if (other == grant) return false;
           const auto pin = Find(other);
           return pin && *pin && (*pin)->directory == directory;
         });
}

Result<GrantPins::Prepared> GrantPins::Prepare(const std::string& grant, const PinPtr& pin) const {
  return Prepared{.grant = grant,
                  .pin = pin,
                  .file = TRY(os::PreparedFile::Write(PathOf(grant), PinText(*pin)))};
}

std::vector<Status> GrantPins::Add(std::span<Prepared> pins) {
  std::vector<Status> added;
  for (Prepared& one : pins) added.push_back(one.file.Put());
  os::SyncDirectory(directory_);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < pins.size(); ++i) {
    if (added[i]) known_[pins[i].grant] = pins[i].pin;
  }
  return added;
}

void GrantPins::Remove(const std::string& grant) {
  (void)os::RemoveFile(PathOf(grant));
  std::lock_guard lock(mutex_);
  known_.erase(grant);
}

GrantPins::Known GrantPins::known() const {
  std::lock_guard lock(mutex_);
  return {known_.begin(), known_.end()};
}

Result<GrantPins::Names> GrantPins::Grants() const {
  Names grants;
  for (const std::string& file : TRY(os::ListDirectory(directory_))) {
    if (!file.ends_with(kSuffix)) continue;
    std::string grant = file.substr(0, file.size() - kSuffix.size());
    if (IsGrantName(grant)) grants.insert(grants.end(), std::move(grant));
  }
  return grants;
}

}  // namespace tessera::agent
