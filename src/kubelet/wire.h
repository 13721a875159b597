// SPDX-License-Identifier: Apache-2.0
// Converts between our types and kubelet's messages. gRPC's types appear here: include it only in
// .cc files of this folder and its subfolders. Pure; any thread.
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
// The error of a failed call to kubelet, for people; `what` names the call.
Error FromGrpc(const grpc::Status& status, std::string_view what);

// The ids of each container in an AllocateRequest; nothing if the bytes are no valid request.
std::optional<std::vector<std::vector<std::string>>> ReadAllocateRequest(
    const grpc::ByteBuffer& request);
// Appends the grant to an AllocateResponse, as the next container's.
void WriteGrant(const Grant& grant, std::string& out);
Grant FromWire(const v1beta1::ContainerAllocateResponse& response);

}  // namespace tessera::kubelet
