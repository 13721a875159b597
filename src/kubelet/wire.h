// SPDX-License-Identifier: Apache-2.0
// Between our types and kubelet's messages. gRPC's types appear here: include it only in .cc
// files, of this folder and those in it. Pure; any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "grant/grant.h"
#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet {

// The gRPC status of an error: a code for programs, Text() for people.
grpc::Status ToGrpc(const Error& error);
// The error of a failed call to kubelet, in plain words; `what` names the call.
Error FromGrpc(const grpc::Status& status, std::string_view what);

// The ids each container of an AllocateRequest asks for; nothing when it is none.
std::optional<std::vector<std::vector<std::string>>> ReadAllocateRequest(
    const grpc::ByteBuffer& request);
// Writes the grant as the next container's of an AllocateResponse.
void WriteGrant(const Grant& grant, std::string& out);
Grant FromWire(const v1beta1::ContainerAllocateResponse& response);

}  // namespace tessera::kubelet
