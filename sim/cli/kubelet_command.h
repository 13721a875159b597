// SPDX-License-Identifier: Apache-2.0
// `tessera-sim kubelet`: the embedded kubelet alone, for developers of device plugins, and the
// orders to it. The functions return the exit code. One thread.
#pragma once

#include <string>
#include <vector>

#include "sim/kubelet/embedded.h"

namespace tessera::cli {

// Runs until SIGINT or SIGTERM; prints one line for each event. The root also has the control
// socket.
int RunKubelet(const kubelet::EmbeddedOptions& options);

// Sends an order to the kubelet that runs in `dir`:
//   status:                     The resources, their devices' holders, the pods
//   run POD [--limits R=N,...] [--init R=N,...] [--sidecar R=N,...]:
//                               Admits a pod and waits for the result; each flag is a
//                               container, and may be repeated
//   end POD:                    Ends it and frees its devices
//   restart-container POD CONTAINER
//   drop RESOURCE:              Ends the connection to the resource's plugin
//   restart | kill | start:     Kubelet itself: stopped and started; killed; started again
//   events [--last N] [--follow]
// POD is NAME or NAMESPACE/NAME.
int KubeletControl(const std::string& dir, const std::string& verb,
                   const std::vector<std::string>& arguments);

}  // namespace tessera::cli
