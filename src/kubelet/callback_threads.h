// SPDX-License-Identifier: Apache-2.0
// Keeps gRPC's callback threads. They end with the last server or channel of the process; when that
// is a channel which a callback lets go, a thread waits for itself and gRPC 1.51 aborts the process
// ("ref_counted.h: assertion failed: prior > 0").
#pragma once

namespace tessera::kubelet {

// From the first call on the threads live as long as the process. Called before every channel and
// server is made; any thread.
void KeepCallbackThreads();

}  // namespace tessera::kubelet
