// SPDX-License-Identifier: Apache-2.0
// gRPC's own log, and protobuf's, as lines of ours. By themselves they write to standard error and
// wait until somebody reads there, their threads with them. Set once, before gRPC is used.
#pragma once

namespace tessera::kubelet {

void TakeGrpcLog();

}  // namespace tessera::kubelet
