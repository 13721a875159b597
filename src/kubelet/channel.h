// SPDX-License-Identifier: Apache-2.0
// gRPC channels to unix sockets. gRPC's types appear here: include it only in this folder's .cc
// files. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace tessera::kubelet {

inline constexpr int kAnySize = -1;

// A channel that accepts messages of so many bytes. It shares no connection with other channels, so
// no earlier failure delays it.
std::shared_ptr<grpc::Channel> FreshChannel(const std::string& socket_path,
                                            int most_bytes = kAnySize);

}  // namespace tessera::kubelet
