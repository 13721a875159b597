// SPDX-License-Identifier: Apache-2.0
// gRPC 1.51 runs callbacks on threads that end with the last server or channel of the process. When
// a callback lets go of the last channel, its thread waits for itself, and gRPC aborts the process
// ("ref_counted.h: assertion failed: prior > 0"). So the threads are kept.
#pragma once

namespace tessera::kubelet::embedded {

// From the first call on, the threads live as long as the process. Called before every channel and
// server is made. Any thread.
void KeepCallbackThreads();

}  // namespace tessera::kubelet::embedded
