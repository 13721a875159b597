// SPDX-License-Identifier: Apache-2.0
#include "scheduler/whole_devices.h"

#include <algorithm>
#include <string_view>

#include "hami/text_numbers.h"
#include "placement/agent_mark.h"

namespace tessera::scheduler {

int64_t WholeDevicesOf(const kube::ClusterNode& node, const hami::Vendor& vendor,
                       const RequestRules& rules) {
  if (node.annotations.contains(vendor.node_register) || node.annotations.contains(kAgentMark)) {
    return 0;
  }
  const auto count = node.allocatable.find(rules.count_name);
  if (count == node.allocatable.end()) return 0;
  return std::max(0, hami::ParseInt32(count->second).value_or(0));
}

bool AsksForAnyWhole(const DeviceDemand& demand) {
  const DeviceSelector& wanted = demand.selector;
  const bool any = wanted.modes.empty() && wanted.types.empty() && wanted.no_types.empty() &&
                   wanted.ids.empty() && wanted.no_ids.empty() &&
                   demand.policy.together == Together::kAnywhere;
  return any && std::ranges::all_of(demand.containers, [](const AskingContainer& container) {
           const Request& request = container.request;
           return request.memory == 0 && request.percentage == 100 &&
                  (request.cores == 0 || request.cores == 100);
         });
}

}  // namespace tessera::scheduler
