// SPDX-License-Identifier: Apache-2.0
// gRPC for the life of the process. Its own log, and protobuf's, become lines of ours: by
// themselves they write to standard error and wait until somebody reads there, their threads with
// them.
#pragma once

namespace tessera::kubelet {

// Called before every channel and server is made; takes a moment the first time. Any thread.
void StartGrpc();

}  // namespace tessera::kubelet
