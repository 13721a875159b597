// SPDX-License-Identifier: Apache-2.0
#include "binding/binding_store.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/characters.h"
#include "binding/state_mount.h"
#include "json/json.h"
#include "placement/units.h"

namespace tessera {
namespace {

constexpr size_t kNameBytes = 16;
constexpr std::string_view kSuffix = ".json";
constexpr int kRecordVersion = 1;
constexpr Duration kPatience{1'000};

using ContainerKind = kube::Container::Kind;
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

json::Array PartsJson(const std::vector<Fraction>& parts) {
  json::Array array;
  for (const Fraction& part : parts) {
    json::Object object{{"device", part.device}, {"memory", part.memory}, {"cores", part.cores}};
    if (!part.units.empty()) object["units"] = part.units;
    array.push_back(std::move(object));
  }
  return array;
}

Result<std::vector<std::string>> ReadIds(const json::Object& object) {
  const json::Array* array = json::GetArray(object, "ids");
  std::vector<std::string> ids;
  for (const json::Value& id : array == nullptr ? json::Array() : *array) {
    if (!id.is_string()) return Fail(Reason::kStateCorrupt, "it has an invalid id");
    ids.emplace_back(id.get_string());
  }
  return ids;
}

Result<std::vector<Fraction>> RecordedParts(const json::Object& object) {
  const json::Array* array = json::GetArray(object, "parts");
  std::vector<Fraction> parts;
  for (const json::Value& item : array == nullptr ? json::Array() : *array) {
    const json::Object* part = item.if_object();
    if (part == nullptr) return Fail(Reason::kStateCorrupt, "it has an invalid part");
    parts.push_back({.device = json::GetString(*part, "device").value_or(""),
                     .memory = json::GetInt(*part, "memory").value_or(0),
                     .cores = static_cast<int>(json::GetInt(*part, "cores").value_or(-1)),
                     .units = json::GetString(*part, "units").value_or("")});
  }
  const bool whole = !parts.empty() && std::ranges::all_of(parts, [](const Fraction& part) {
    return !part.device.empty() && part.memory > 0 && part.cores >= 0 && UnitSet::Parse(part.units);
  });
  if (!whole) return Fail(Reason::kStateCorrupt, "it does not say what was granted");
  return parts;
}

}  // namespace

std::string BindingRecordText(const BindingRecord& record) {
  json::Object object{{"version", kRecordVersion},      {"resource", record.resource},
                      {"pod", record.pod_uid},          {"container", record.container},
                      {"directory", record.directory},  {"parts", PartsJson(record.parts)},
                      {"controlled", record.controlled}};
  if (!record.ids.empty()) object["ids"] = json::Array(record.ids.begin(), record.ids.end());
  if (!record.library.empty()) object["library"] = record.library;
  if (!record.gate.empty()) object["gate"] = record.gate;
  json::Array placement;
  for (const PlacedContainer& container : record.placement) {
    placement.push_back(json::Object{{"container", container.name},
                                     {"kind", KindName(container.kind)},
                                     {"parts", PartsJson(container.parts)}});
  }
  if (!placement.empty()) object["decision"] = std::move(placement);
  if (record.fitted) object["fitted"] = true;
  return json::WritePretty(std::move(object));
}

Result<BindingRecord> ReadBindingRecord(std::string_view text) {
  const json::Value value = TRY(json::Parse(text));
  const json::Object* object = value.if_object();
  if (object == nullptr || json::GetInt(*object, "version") != kRecordVersion) {
    return Fail(Reason::kStateCorrupt, "it is not a grant's record");
  }
  BindingRecord record{.resource = json::GetString(*object, "resource").value_or(""),
                       .pod_uid = json::GetString(*object, "pod").value_or(""),
                       .container = json::GetString(*object, "container").value_or(""),
                       .directory = json::GetString(*object, "directory").value_or(""),
                       .parts = TRY(RecordedParts(*object)),
                       .controlled = json::GetBool(*object, "controlled").value_or(true),
                       .library = json::GetString(*object, "library").value_or(""),
                       .fitted = json::GetBool(*object, "fitted").value_or(false),
                       .gate = json::GetString(*object, "gate").value_or(""),
                       .ids = TRY(ReadIds(*object))};
  const json::Array* placement = json::GetArray(*object, "decision");
  if (placement == nullptr) return record;
  for (const json::Value& item : *placement) {
    const json::Object* container = item.if_object();
    const auto kind = container == nullptr ? std::nullopt : ReadKind(*container);
    if (!kind) return Fail(Reason::kStateCorrupt, "it has an invalid container");
    record.placement.push_back({.name = json::GetString(*container, "container").value_or(""),
                                .kind = *kind,
                                .parts = TRY(RecordedParts(*container))});
  }
  return record;
}

bool IsOwnDirectory(const BindingRecord& record, const std::string& name) {
  const bool by_pod = !record.placement.empty() && !record.container.empty();
  return record.directory.ends_with(by_pod ? "_" + record.container : "/" + name);
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

std::string BindingStore::PathOf(const std::string& grant) const {
  return fmt::format("{}/{}{}", directory_, grant, kSuffix);
}

Result<BindingRecordPtr> BindingStore::Find(const std::string& grant, const Names* written) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(grant);
  const bool may_differ = written != nullptr && known != known_.end() && known->second->HasUnits();
  if (known != known_.end() && !may_differ) return known->second;
  if (written != nullptr && !written->contains(grant)) return nullptr;
  const std::string path = PathOf(grant);
  const auto text = os::ReadFile(path);
  if (!text && text.error().reason == Reason::kNotFound) return nullptr;
  // An unreadable record may differ from the current configuration, so it is an error and not an
  // absent record.
  if (!text) return Fail(text.error());
  auto record = ReadBindingRecord(*text);
  if (!record) {
    return Fail(Reason::kGrantUnknown, "{} does not say what the container was granted: {}", path,
                record.error().message);
  }
  return known_[grant] = std::make_shared<const BindingRecord>(*std::move(record));
}

Result<os::FileLock> BindingStore::Lock() {
  if (const Status made = os::MakeDirectories(directory_, 0700); !made) {
    return Fail(AboutStateMount(made.error(), directory_.substr(0, directory_.rfind('/'))));
  }
  return os::FileLock::TakeWithin(directory_ + ".lock", kPatience);
}

bool BindingStore::IsShared(const std::string& directory, const std::string& grant) {
  const auto grants = Grants();
  return grants && std::ranges::any_of(*grants, [&](const std::string& other) {
           if (other == grant) return false;
           const auto record = Find(other);
           return record && *record && (*record)->directory == directory;
         });
}

Result<BindingStore::StagedRecord> BindingStore::StageRecord(const std::string& grant,
                                                             const BindingRecordPtr& record) const {
  return StagedRecord{
      .grant = grant,
      .record = record,
      .file = TRY(os::PreparedFile::Write(PathOf(grant), BindingRecordText(*record)))};
}

std::vector<Status> BindingStore::Add(std::span<StagedRecord> records) {
  std::vector<Status> added;
  for (StagedRecord& one : records) added.push_back(one.file.Put());
  os::SyncDirectory(directory_);
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < records.size(); ++i) {
    if (added[i]) known_[records[i].grant] = records[i].record;
  }
  return added;
}

void BindingStore::Remove(const std::string& grant) {
  (void)os::RemoveFile(PathOf(grant));
  const MutexLock lock(mutex_);
  known_.erase(grant);
}

bool BindingStore::HasGrant(std::string_view pod_uid) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(known_,
                             [&](const auto& known) { return known.second->pod_uid == pod_uid; });
}

BindingStore::Known BindingStore::known() const {
  const MutexLock lock(mutex_);
  return {known_.begin(), known_.end()};
}

Result<BindingStore::Names> BindingStore::Grants() const {
  Names grants;
  for (const std::string& file : TRY(os::ListDirectory(directory_))) {
    if (!file.ends_with(kSuffix)) continue;
    std::string grant = file.substr(0, file.size() - kSuffix.size());
    if (IsGrantName(grant)) grants.insert(grants.end(), std::move(grant));
  }
  return grants;
}

}  // namespace tessera
