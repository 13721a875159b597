// SPDX-License-Identifier: Apache-2.0
#include "hami/device_selector.h"

#include "base/text.h"
#include "hami/names.h"

namespace tessera::hami {

std::vector<std::string> ListIn(std::string_view text) {
  std::vector<std::string> list;
  for (const std::string_view part : Split(text, ',')) {
    if (const std::string_view trimmed = Trim(part); !trimmed.empty()) list.emplace_back(trimmed);
  }
  return list;
}

DeviceSelector SelectorOf(const kube::Pod& pod, const Vendor& vendor) {
  std::string_view modes = Trim(pod.Annotation(vendor.use_mode));
  if (!vendor.usual_mode.empty() && modes != kModeCore) modes = vendor.usual_mode;
  return {.family = std::string(vendor.family),
          .modes = std::string(modes),
          .types = ListIn(pod.Annotation(vendor.use_type)),
          .no_types = ListIn(pod.Annotation(vendor.no_use_type)),
          .ids = ListIn(pod.Annotation(vendor.use_id)),
          .no_ids = ListIn(pod.Annotation(vendor.no_use_id))};
}

}  // namespace tessera::hami
