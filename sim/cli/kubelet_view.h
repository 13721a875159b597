// SPDX-License-Identifier: Apache-2.0
// What `tessera-sim kubelet` shows of its answers. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/layout.h"
#include "json/json.h"

namespace tessera::cli {

// Resources, then the devices that are held or not healthy, then the pods.
std::string KubeletStatusText(const json::Object& status, const View& view);
// What became of a pod.
std::string AdmissionText(const json::Object& admission);

}  // namespace tessera::cli
