// SPDX-License-Identifier: Apache-2.0
// The files by which CNI plugins such as Multus find the function of a pod's device: one for each
// device of the resource, whether a pod has it or not. kubelet makes a pod's network before it asks
// for any container, so a file that is written for a grant would come too late. Source: the device
// information specification of the Network Plumbing Working Group, 1.1.0. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/rdma/functions.h"
#include "base/result.h"
#include "os/files.h"

namespace tessera::rdma {

inline constexpr std::string_view kDevInfo = "/var/run/k8s.cni.cncf.io/devinfo/dp";

// "example.com-nic-0000:af:00.1-device.json": the name of a device's file.
std::string DevInfoName(std::string_view resource, std::string_view address);
std::string DevInfoText(const Function& function);

// Writes the function's file, unless it is there.
Status WriteDevInfo(const os::Root& root, std::string_view resource, const Function& function);
// Removes the files of the resource's other functions. One that cannot be removed stays until the
// next call.
void RemoveOtherDevInfo(const os::Root& root, std::string_view resource,
                        const std::vector<Function>& functions);

}  // namespace tessera::rdma
