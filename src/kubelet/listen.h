// SPDX-License-Identifier: Apache-2.0
// A gRPC server on a unix socket. gRPC's types appear here: include it only in this folder's .cc
// files. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace tessera::kubelet {

// Binds `path`, where nothing may be yet, and starts what `builder` holds. The listener is gRPC's
// own, so connections are taken whatever our loop does at the moment. gRPC removes the path at its
// end, so a path must not be used by two servers at a time.
Result<std::unique_ptr<grpc::Server>> ServeUnix(grpc::ServerBuilder& builder,
                                                const std::string& path);

// Mode 0600 for the socket. Apart, for a server whose calls go to a queue cannot just be dropped
// when this fails: see CallQueue::End.
Status MakePrivate(const std::string& path);

}  // namespace tessera::kubelet
