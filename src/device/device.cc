// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "base/text.h"

namespace tessera {

bool DeviceKeyLess::operator()(const DeviceKey& a, const DeviceKey& b) const {
  const NaturalLess less;
  if (a.source != b.source) return less(a.source, b.source);
  return less(a.id, b.id);
}

}  // namespace tessera
