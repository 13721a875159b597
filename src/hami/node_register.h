// SPDX-License-Identifier: Apache-2.0
// The devices of a node as HAMi's scheduler knows them: the value of Vendor::node_register. From
// HAMi 2.8 on it is JSON; up to 2.7 it was text with ':' behind each device. Pure; plain data; any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/mig_profile.h"
#include "hami/vendor.h"

namespace tessera::hami {

struct RegisteredDevice {
  std::string id;       // UUID
  uint32_t index = 0;   // as the driver counts them
  int32_t count = 0;    // how many containers may share it
  int32_t devmem = 0;   // MiB
  int32_t devcore = 0;  // percent
  std::string type{};   // TypeName()
  int32_t numa = 0;
  std::string mode{};  // kModeCore, ...
  std::vector<MigProfile> mig_profiles{};
  bool health = false;
  std::string vendor{};  // NVIDIA's are registered without
  // What some vendors' plugins add (custominfo): texts and whole numbers, as texts.
  std::map<std::string, std::string, std::less<>> custom{};
  bool operator==(const RegisteredDevice&) const = default;
};

// "[]" without devices. In the order of their indices: the same devices are the same text.
std::string EncodeRegister(std::span<const RegisteredDevice> devices);
// In the order of the text. Members that are not known are passed over, missing ones are zero, as
// HAMi leaves them out. kInvalid when it is not a list of devices.
Result<std::vector<RegisteredDevice>> DecodeRegister(std::string_view text,
                                                     const Vendor& vendor = kNvidia);

// The format of HAMi up to 2.7: id,count,devmem,devcore,type,numa,health,index,mode:
std::string EncodeOldRegister(std::span<const RegisteredDevice> devices);
// Index and mode may be missing: 0 and kModeCore. kInvalid when there are other than 7 or 9 fields,
// a number is none, or nothing ends with ':'.
Result<std::vector<RegisteredDevice>> DecodeOldRegister(std::string_view text,
                                                        const Vendor& vendor = kNvidia);

// HAMi's name of a model: "NVIDIA-Tesla P4" for the driver's "Tesla P4", "NVIDIA A30" as it is.
std::string TypeName(const Vendor& vendor, std::string_view model);

}  // namespace tessera::hami
