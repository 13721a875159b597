// SPDX-License-Identifier: Apache-2.0
// The answers of `tessera-sim kubelet` as text. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Resources, then held or unhealthy devices, then pods.
std::string KubeletStatusText(const json::Object& status, const View& view);
// The result of a pod's admission.
std::string AdmissionText(const json::Object& admission);

}  // namespace tessera::cli
