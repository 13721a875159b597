// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "base/text.h"

namespace tessera {

bool DeviceKeyLess::operator()(const DeviceKey& a, const DeviceKey& b) const {
  const NaturalLess less;
  if (a.source != b.source) return less(a.source, b.source);
  return less(a.id, b.id);
}

void JoinVariable(const std::string& name, const std::string& value, DeviceVariables& joined) {
  const auto [at, first] = joined.try_emplace(name, value);
  if (!first) at->second += "," + value;
}

}  // namespace tessera
