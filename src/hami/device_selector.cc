// SPDX-License-Identifier: Apache-2.0
#include "hami/device_selector.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tessera::hami {
namespace {

std::vector<std::string> ListOf(const kube::Pod& pod, std::string_view key) {
  std::vector<std::string> list;
  for (const std::string_view part : Split(pod.Annotation(key), ',')) {
    if (const std::string_view text = Trim(part); !text.empty()) list.emplace_back(text);
  }
  return list;
}

}  // namespace

DeviceSelector SelectorOf(const kube::Pod& pod, const Vendor& vendor) {
  return {.types = ListOf(pod, vendor.use_type),
          .no_types = ListOf(pod, vendor.no_use_type),
          .ids = ListOf(pod, vendor.use_id),
          .no_ids = ListOf(pod, vendor.no_use_id)};
}

}  // namespace tessera::hami
