// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "base/text.h"

namespace tessera {
namespace {

bool IsObject(const std::string& text) {
  return text.size() > 2 && text.front() == '{' && text.back() == '}';
}

}  // namespace

bool DeviceKeyLess::operator()(const DeviceKey& a, const DeviceKey& b) const {
  const NaturalLess less;
  if (a.source != b.source) return less(a.source, b.source);
  return less(a.id, b.id);
}

void JoinVariable(const std::string& name, const std::string& value, DeviceVariables& joined) {
  const auto [at, first] = joined.try_emplace(name, value);
  if (first) return;
  std::string& before = at->second;
  const bool are_objects = IsObject(before) && IsObject(value);
  if (are_objects) before.pop_back();
  before += ",";
  before.append(value, are_objects ? 1 : 0);
}

}  // namespace tessera
