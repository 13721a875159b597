// SPDX-License-Identifier: Apache-2.0
#include "kubelet/checkpoint.h"

#include <algorithm>
#include <cstdint>

#include "base/base64.h"
#include "base/text.h"
#include "json/json.h"

namespace tessera::kubelet {
namespace {

tl::unexpected<Error> Malformed(std::string_view what) {
  return Fail(Reason::kInvalid, "kubelet's checkpoint: {}", what);
}

Result<std::vector<std::string>> ParseIds(const json::Value& value) {
  std::vector<std::string> ids;
  if (value.is_null()) return ids;
  if (!value.is_array()) return Malformed("device ids are not a list");
  for (const json::Value& id : value.get_array()) {
    if (!id.is_string()) return Malformed("a device id is not a string");
    ids.emplace_back(id.get_string());
  }
  return ids;
}

// {"key":[ids], ...}; Go writes null for an empty map.
Result<std::map<std::string, std::vector<std::string>>> ParseIdLists(const json::Object& object,
                                                                     std::string_view key) {
  std::map<std::string, std::vector<std::string>> lists;
  const json::Value* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr || value->is_null()) return lists;
  if (!value->is_object()) return Malformed(fmt::format("{} is not an object", key));
  for (const auto& member : value->get_object()) {
    lists[std::string(member.key())] = TRY(ParseIds(member.value()));
  }
  return lists;
}

Result<CheckpointEntry> ParseEntry(const json::Value& value) {
  if (!value.is_object()) return Malformed("an entry is not an object");
  const json::Object& object = value.get_object();
  auto uid = json::GetString(object, "PodUID");
  auto container = json::GetString(object, "ContainerName");
  auto resource = json::GetString(object, "ResourceName");
  if (!uid || !container || !resource) return Malformed("an entry names no pod or resource");
  CheckpointEntry entry{*uid, *container, *resource, {}, {}};
  if (!object.contains("DeviceIDs")) return Malformed("an entry has no DeviceIDs");
  entry.ids_by_numa = TRY(ParseIdLists(object, "DeviceIDs"));
  const json::Value* answer = object.if_contains("AllocResp");
  if (answer == nullptr || !(answer->is_null() || answer->is_string())) {
    return Malformed("an entry has no AllocResp");
  }
  auto response = DecodeBase64(json::GetString(object, "AllocResp").value_or(""));
  if (!response) return Malformed("AllocResp is not base64");
  entry.allocate_response = *std::move(response);
  return entry;
}

json::Object WriteIdLists(const std::map<std::string, std::vector<std::string>>& lists) {
  json::Object object;
  for (const auto& [key, ids] : lists) object[key] = json::Array(ids.begin(), ids.end());
  return object;
}

json::Object WriteEntry(const CheckpointEntry& entry) {
  return {{"PodUID", entry.pod_uid},
          {"ContainerName", entry.container},
          {"ResourceName", entry.resource},
          {"DeviceIDs", WriteIdLists(entry.ids_by_numa)},
          {"AllocResp", EncodeBase64(entry.allocate_response)}};
}

// FNV-1a of the text. kubelet hashes another text, so the two differ.
uint64_t Checksum(std::string_view text) {
  uint32_t sum = 2166136261U;
  for (char c : text) sum = (sum ^ static_cast<uint8_t>(c)) * 16777619U;
  return sum;
}

}  // namespace

std::vector<std::string> CheckpointEntry::ids() const {
  std::vector<std::string> all;
  for (const auto& [numa, listed] : ids_by_numa)
    all.insert(all.end(), listed.begin(), listed.end());
  // A device near two nodes is listed under both.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::stable_sort(all.begin(), all.end(), NaturalLess());
  return all;
}

Result<Checkpoint> ParseCheckpoint(std::string_view text) {
  json::Value root = TRY_IN(json::Parse(text), "kubelet's checkpoint");
  if (!root.is_object()) return Malformed("not a JSON object");
  const json::Object* data = json::GetObject(root.get_object(), "Data");
  if (data == nullptr) return Malformed("no Data");
  Checkpoint checkpoint;
  checkpoint.registered = TRY(ParseIdLists(*data, "RegisteredDevices"));
  const json::Value* entries = data->if_contains("PodDeviceEntries");
  if (entries == nullptr) return Malformed("no PodDeviceEntries");
  if (entries->is_null()) return checkpoint;
  if (!entries->is_array()) return Malformed("PodDeviceEntries is not a list");
  for (const json::Value& entry : entries->get_array()) {
    checkpoint.entries.push_back(TRY(ParseEntry(entry)));
  }
  return checkpoint;
}

std::string WriteCheckpoint(const Checkpoint& checkpoint) {
  json::Array entries;
  for (const CheckpointEntry& entry : checkpoint.entries) entries.push_back(WriteEntry(entry));
  std::string data = json::Write(json::Object{
      {"PodDeviceEntries", entries}, {"RegisteredDevices", WriteIdLists(checkpoint.registered)}});
  return fmt::format(R"({{"Data":{},"Checksum":{}}})", data, Checksum(data));
}

}  // namespace tessera::kubelet
