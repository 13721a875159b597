// SPDX-License-Identifier: Apache-2.0
// A gRPC server on a unix socket. gRPC's types appear here: include it only in this folder's .cc
// files. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace tessera::kubelet {

// Binds `path`, where no file may exist, and starts the server of `builder`. A busy loop does not
// delay connections, because gRPC's own threads accept them. At the server's end gRPC removes the
// path, so two servers must not use one path at a time.
Result<std::unique_ptr<grpc::Server>> ServeUnix(grpc::ServerBuilder& builder,
                                                const std::string& path);

// Sets mode 0600 on the socket. It is a separate step, because a server with a queue cannot simply
// be destroyed if this fails: see CallQueue::End.
Status MakePrivate(const std::string& path);

}  // namespace tessera::kubelet
