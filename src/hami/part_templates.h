// SPDX-License-Identifier: Apache-2.0
// The templates of a placed pod's parts, for vendors whose devices templates divide. The scheduler
// writes them in Vendor::pod_devices_json. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "hami/vendor.h"
#include "placement/placement.h"
#include "placement/requests.h"

namespace tessera::hami {

// The template of this size; null: there is none.
const PartTemplate* TemplateOf(const Vendor& vendor, int64_t memory);

// Checks that each part is a whole device or has a template's size, and that the scheduler named
// just these. kInvalid, with what to do. True of vendors without such a list.
Status CheckTemplates(const kube::Pod& pod, const Vendor& vendor, const RequestRules& rules,
                      const PodPlacement& placement);

}  // namespace tessera::hami
