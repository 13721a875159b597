// SPDX-License-Identifier: Apache-2.0
// Parts of chips, placed by HAMi's scheduler (`policy: vgpu`): each container has whole chips, or a
// vNPU of a template's size. Names and formats are those of HAMi's plugin for Ascend. Pure; any
// thread.
#pragma once

#include <string>

#include "config/schema/config.h"
#include "config/schema/findings.h"
#include "grant/enforcer.h"

namespace tessera::ascend {

// The variables by which ascend-docker-runtime gives a container its chips, and makes its vNPU.
const Enforcer& RuntimeVariables();

// Completes the section and the rules for grants, if the policy is `vgpu`.
void CompleteVgpu(config::Resource& resource);
// `section`: the path of the kind's section. `index` is the resource's.
void CheckVgpu(const config::Config& config, size_t index, const std::string& section,
               config::Findings& findings);

}  // namespace tessera::ascend
