// SPDX-License-Identifier: Apache-2.0
// kubelet.sock: the service that plugins register with. It answers a Register only after kubelet
// has called back.
#pragma once

#include <memory>

#include "sim/kubelet/core.h"
#include "sim/kubelet/plugin_connections.h"

namespace grpc {
class Service;
}

namespace tessera::kubelet::embedded {

std::shared_ptr<grpc::Service> MakeRegistrationService(Core& core, PluginConnections& connections);

}  // namespace tessera::kubelet::embedded
