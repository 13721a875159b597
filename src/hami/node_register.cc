// SPDX-License-Identifier: Apache-2.0
#include "hami/node_register.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "hami/members.h"
#include "hami/names.h"
#include "hami/text_numbers.h"

namespace tessera::hami {
namespace {

json::Array PlacementsJson(const std::vector<MigPlacement>& placements) {
  json::Array array;
  for (const MigPlacement& placement : placements) {
    array.push_back(json::Object{{"start", placement.start}, {"size", placement.size}});
  }
  return array;
}

json::Array ProfilesJson(const std::vector<MigProfile>& profiles) {
  json::Array array;
  for (const MigProfile& profile : profiles) {
    array.push_back(json::Object{{"name", profile.name},
                                 {"memoryMB", profile.memory},
                                 {"core", profile.core},
                                 {"sliceCount", profile.slice_count},
                                 {"placements", PlacementsJson(profile.placements)}});
  }
  return array;
}

// Omits zero and empty members, like Go's omitempty.
json::Object DeviceJson(const RegisteredDevice& device) {
  json::Object object;
  object.reserve(11);
  const auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  const auto number = [&](std::string_view key, int64_t value) {
    if (value != 0) object[key] = value;
  };
  text("id", device.id);
  number("index", device.index);
  number("count", device.count);
  number("devmem", device.devmem);
  number("devcore", device.devcore);
  text("type", device.type);
  number("numa", device.numa);
  text("mode", device.mode);
  if (!device.mig_profiles.empty()) object["migProfiles"] = ProfilesJson(device.mig_profiles);
  if (device.health) object["health"] = true;
  text("devicevendor", device.vendor);
  if (!device.custom.empty()) {
    json::Object custom;
    for (const auto& [key, value] : device.custom) {
      const auto whole = ParseInt32(value);
      if (whole && std::to_string(*whole) == value) {
        custom[key] = *whole;
      } else {
        custom[key] = value;
      }
    }
    object["custominfo"] = std::move(custom);
  }
  return object;
}

Result<MigPlacement> ReadPlacement(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  MigPlacement placement;
  TRY(ReadMember(object, "start", placement.start));
  TRY(ReadMember(object, "size", placement.size));
  return placement;
}

Result<MigProfile> ReadProfile(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  MigProfile profile;
  TRY(ReadMember(object, "name", profile.name));
  TRY(ReadMember(object, "memoryMB", profile.memory));
  TRY(ReadMember(object, "core", profile.core));
  TRY(ReadMember(object, "sliceCount", profile.slice_count));
  if (const json::Value* placements = object.if_contains("placements")) {
    TRY(ReadList(*placements, "placement", ReadPlacement, profile.placements));
  }
  return profile;
}

// The vendor defines these members; other types are ignored.
void ReadCustom(const json::Object& device, RegisteredDevice& read) {
  const json::Object* custom = json::GetObject(device, "custominfo");
  if (custom == nullptr) return;
  for (const auto& member : *custom) {
    if (const auto number = json::GetInt(*custom, member.key())) {
      read.custom.emplace(member.key(), fmt::format("{}", *number));
    } else if (auto text = json::GetString(*custom, member.key())) {
      read.custom.emplace(member.key(), *std::move(text));
    }
  }
}

Result<RegisteredDevice> ReadDevice(const json::Value& value) {
  const json::Object& object = *TRY(AsObject(value));
  RegisteredDevice device;
  TRY(ReadMember(object, "id", device.id));
  TRY(ReadMember(object, "index", device.index));
  TRY(ReadMember(object, "count", device.count));
  TRY(ReadMember(object, "devmem", device.devmem));
  TRY(ReadMember(object, "devcore", device.devcore));
  TRY(ReadMember(object, "type", device.type));
  TRY(ReadMember(object, "numa", device.numa));
  TRY(ReadMember(object, "mode", device.mode));
  if (const json::Value* profiles = object.if_contains("migProfiles")) {
    TRY(ReadList(*profiles, "profile", ReadProfile, device.mig_profiles));
  }
  TRY(ReadMember(object, "health", device.health));
  TRY(ReadMember(object, "devicevendor", device.vendor));
  ReadCustom(object, device);
  return device;
}

std::vector<const RegisteredDevice*> ByIndex(std::span<const RegisteredDevice> devices) {
  std::vector<const RegisteredDevice*> sorted;
  sorted.reserve(devices.size());
  for (const RegisteredDevice& device : devices) sorted.push_back(&device);
  std::ranges::stable_sort(sorted, {}, [](const RegisteredDevice* device) {
    return std::tuple(device->index, std::string_view(device->id));
  });
  return sorted;
}

Result<int32_t> OldNumber(std::string_view name, std::string_view text) {
  const auto number = ParseInt32(text);
  if (!number) return Fail(Reason::kInvalid, "{} is {}, not a number", name, Brief(text));
  return *number;
}

Result<RegisteredDevice> ReadOldDevice(std::string_view text) {
  const std::vector<std::string> fields = Split(text, ',');
  if (fields.size() != 7 && fields.size() != 9) {
    return Fail(Reason::kInvalid, "a device has {}, not 7 or 9", Count(fields.size(), "field"));
  }
  RegisteredDevice device;
  device.id = fields[0];
  device.count = TRY(OldNumber("count", fields[1]));
  device.devmem = TRY(OldNumber("devmem", fields[2]));
  device.devcore = TRY(OldNumber("devcore", fields[3]));
  device.type = fields[4];
  device.numa = TRY(OldNumber("numa", fields[5]));
  const auto health = ParseBool(fields[6]);
  if (!health) return Fail(Reason::kInvalid, "health is {}, not a bool", Brief(fields[6]));
  device.health = *health;
  device.mode = kModeCore;
  if (fields.size() == 7) return device;
  const int32_t index = TRY(OldNumber("index", fields[7]));
  if (index < 0) return Fail(Reason::kInvalid, "index is negative: {}", index);
  device.index = static_cast<uint32_t>(index);
  device.mode = fields[8];
  return device;
}

}  // namespace

std::string EncodeRegister(std::span<const RegisteredDevice> devices) {
  json::Array array;
  array.reserve(devices.size());
  for (const RegisteredDevice* device : ByIndex(devices)) array.push_back(DeviceJson(*device));
  return json::Write(array);
}

Result<std::vector<RegisteredDevice>> DecodeRegister(std::string_view text, const Vendor& vendor) {
  const json::Value root = TRY_IN(json::Parse(text), vendor.node_register);
  std::vector<RegisteredDevice> devices;
  TRY_IN(ReadList(root, "device", ReadDevice, devices), vendor.node_register);
  return devices;
}

std::string EncodeOldRegister(std::span<const RegisteredDevice> devices) {
  std::string text;
  for (const RegisteredDevice* device : ByIndex(devices)) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}:", device->id, device->count, device->devmem,
                        device->devcore, device->type, device->numa, device->health, device->index,
                        device->mode);
  }
  return text;
}

Result<std::vector<RegisteredDevice>> DecodeOldRegister(std::string_view text,
                                                        const Vendor& vendor) {
  if (text.find(':') == std::string_view::npos) {
    return Fail(Reason::kInvalid, "{}: no device ends with ':'", vendor.node_register);
  }
  std::vector<RegisteredDevice> devices;
  for (const std::string& part : Split(text, ':')) {
    if (part.find(',') == std::string::npos) continue;
    devices.push_back(TRY_IN(ReadOldDevice(part), vendor.node_register));
  }
  return devices;
}

std::string TypeName(const Vendor& vendor, std::string_view model) {
  return model.starts_with(vendor.word) ? std::string(model)
                                        : fmt::format("{}-{}", vendor.word, model);
}

}  // namespace tessera::hami
