// SPDX-License-Identifier: Apache-2.0
// pod-resources/kubelet.sock: the holders of devices, for monitors. It has kubelet's rate limit:
// 100 calls a second, 10 at once.
#pragma once

#include <memory>

#include "sim/kubelet/core.h"

namespace grpc {
class Service;
}

namespace tessera::kubelet::embedded {

std::shared_ptr<grpc::Service> MakePodResourcesService(Core& core);

}  // namespace tessera::kubelet::embedded
