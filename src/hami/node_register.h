// SPDX-License-Identifier: Apache-2.0
// The registered devices of a node, the value of Vendor::node_register. It is JSON from HAMi 2.8
// on. Up to 2.7 it was text with ':' after each device. Pure; plain data; any thread.
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
  uint32_t index = 0;   // the driver's index
  int32_t count = 0;    // the most containers that may share it
  int32_t devmem = 0;   // MiB
  int32_t devcore = 0;  // percent
  std::string type{};   // TypeName()
  int32_t numa = 0;
  std::string mode{};  // kModeCore, ...
  std::vector<MigProfile> mig_profiles{};
  bool health = false;
  std::string vendor{};  // empty for NVIDIA
  // Additions of some vendors' plugins (custominfo): texts, and whole numbers as text.
  std::map<std::string, std::string, std::less<>> custom{};
  bool operator==(const RegisteredDevice&) const = default;
};

// "[]" without devices. Sorted by index, so equal devices give equal text.
std::string EncodeRegister(std::span<const RegisteredDevice> devices);
// In the text's order. Unknown members are ignored. Missing ones are zero, because HAMi omits
// zeros. kInvalid if the text is no list of devices.
Result<std::vector<RegisteredDevice>> DecodeRegister(std::string_view text,
                                                     const Vendor& vendor = kNvidia);

// The format of HAMi up to 2.7: id,count,devmem,devcore,type,numa,health,index,mode:
std::string EncodeOldRegister(std::span<const RegisteredDevice> devices);
// Index and mode may be missing: then 0 and kModeCore. Fails with kInvalid if a device has neither
// 7 nor 9 fields, a number is unreadable, or the text has no ':'.
Result<std::vector<RegisteredDevice>> DecodeOldRegister(std::string_view text,
                                                        const Vendor& vendor = kNvidia);

// HAMi's name of a model: the driver's "Tesla P4" becomes "NVIDIA-Tesla P4", "NVIDIA A30" stays.
std::string TypeName(const Vendor& vendor, std::string_view model);

}  // namespace tessera::hami
