// SPDX-License-Identifier: Apache-2.0
// Starts gRPC for the life of the process. The logs of gRPC and protobuf become lines of our log.
// By default they write to standard error, where a full pipe would block their threads.
#pragma once

namespace tessera::kubelet {

// Called before each channel or server is made. The first call takes a moment. Any thread.
void StartGrpc();

}  // namespace tessera::kubelet
