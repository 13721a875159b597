// SPDX-License-Identifier: Apache-2.0
#include "hami/device_selector.h"

#include <set>

#include "base/text.h"
#include "hami/names.h"

namespace tessera::hami {

namespace {

// The lists are compared with each device of each node, and any user can write them. A pod has no
// more than a few types. It may name each GPU of a large cluster.
constexpr size_t kMostTypes = 64;
constexpr size_t kMostIds = 1024;

Result<std::vector<std::string>> ListOf(const kube::Pod& pod, std::string_view key, size_t most) {
  auto list = ListIn(pod.Annotation(key));
  if (list.size() <= most) return list;
  return Fail(Reason::kBadSize, "annotation {} has {} entries; it may have {}", key, list.size(),
              most);
}

}  // namespace

std::vector<std::string> ListIn(std::string_view text) {
  std::vector<std::string> list;
  std::set<std::string_view> seen;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view trimmed = Trim(part);
    if (!trimmed.empty() && seen.insert(trimmed).second) list.emplace_back(trimmed);
  }
  return list;
}

Result<DeviceSelector> SelectorOf(const kube::Pod& pod, const Vendor& vendor) {
  std::string_view modes = Trim(pod.Annotation(vendor.use_mode));
  if (!vendor.usual_mode.empty() && modes != kModeCore) modes = vendor.usual_mode;
  return DeviceSelector{.family = std::string(vendor.family),
                        .modes = std::string(modes),
                        .types = TRY(ListOf(pod, vendor.use_type, kMostTypes)),
                        .no_types = TRY(ListOf(pod, vendor.no_use_type, kMostTypes)),
                        .ids = TRY(ListOf(pod, vendor.use_id, kMostIds)),
                        .no_ids = TRY(ListOf(pod, vendor.no_use_id, kMostIds))};
}

}  // namespace tessera::hami
