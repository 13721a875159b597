// SPDX-License-Identifier: Apache-2.0
// `tessera-sim kubelet`: the embedded kubelet alone, for people who develop device plugins, and the
// orders to it. What these return is the exit code. One thread.
#pragma once

#include <string>
#include <vector>

#include "sim/kubelet/embedded.h"

namespace tessera::cli {

// Runs until SIGINT or SIGTERM; prints one line an event. The root gets the control socket as well.
int RunKubelet(const kubelet::EmbeddedOptions& options);

// An order to the one that runs in `dir`:
//   status                      the resources, their devices' holders, the pods
//   run POD [--limits R=N,...] [--init R=N,...] [--sidecar R=N,...]
//                               admits a pod and waits for what becomes of it; each flag is a
//                               container, and may be repeated
//   end POD                     its devices are free again
//   restart-container POD CONTAINER
//   drop RESOURCE               hangs up on the resource's plugin
//   restart | kill | start      kubelet itself: stopped and started; killed; started again
//   events [--last N] [--follow]
// POD is NAME or NAMESPACE/NAME.
int KubeletControl(const std::string& dir, const std::string& verb,
                   const std::vector<std::string>& arguments);

}  // namespace tessera::cli
