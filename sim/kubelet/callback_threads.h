// SPDX-License-Identifier: Apache-2.0
// gRPC 1.51 runs callbacks on threads that end with the process's last server or channel. If a
// callback drops the last channel, its thread joins itself, and gRPC aborts ("ref_counted.h:
// assertion failed: prior > 0"). So the threads are kept.
#pragma once

namespace tessera::kubelet::embedded {

// After the first call the threads live as long as the process. Call it before every channel and
// server is made. Any thread.
void KeepCallbackThreads();

}  // namespace tessera::kubelet::embedded
