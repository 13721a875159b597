// SPDX-License-Identifier: Apache-2.0
// gRPC's own log as lines of ours. By itself gRPC writes to standard error and waits until somebody
// reads there, its threads with it. Set once, before gRPC is used.
#pragma once

namespace tessera::kubelet {

void TakeGrpcLog();

}  // namespace tessera::kubelet
