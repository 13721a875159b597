// SPDX-License-Identifier: Apache-2.0
// gRPC channels to unix sockets. gRPC's types appear here: include it only in this folder's .cc
// files. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace tessera::kubelet {

// A channel that shares nothing with any other, so that no former failure delays it, and that takes
// messages of any size.
std::shared_ptr<grpc::Channel> FreshChannel(const std::string& socket_path);

}  // namespace tessera::kubelet
