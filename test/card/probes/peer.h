// SPDX-License-Identifier: Apache-2.0
// Another process of the probe's container: the same limit, the same region. It does what it is
// told, one order after the other, and ends with the probe.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "card/probes/driver.h"

namespace tessera::card {

enum class Order : int {
  kAllocate,     // bytes; answers an address
  kFree,         // an address
  kOpenIpc,      // a handle of cuIpcGetMemHandle; answers an address
  kOpenIpcOld,   // likewise, by the function of CUDA 4
  kCloseIpc,     // an address
  kCreate,       // bytes, shareable; answers with a descriptor
  kMap,          // a descriptor, bytes: imports, maps and releases it; answers an address
  kUnmap,        // an address, bytes
  kImportPool,   // a descriptor
  kImportPiece,  // what cuMemPoolExportPointer said; answers an address
  kLoad,         // a kernel, which runs for a moment
  kSpin,         // ns, as bytes: launches a larger one that takes so long
  kWait,         // for all that it launched
  kWaitInVain,   // for a stream that has nothing to do
};

struct Message {
  Order order = Order::kAllocate;
  CUresult result = CUDA_SUCCESS;
  CUdeviceptr address = 0;
  uint64_t bytes = 0;
  char data[64] = {};
};

class Peer {
 public:
  explicit Peer(bool is_outside = false);  // of the container: without its library
  ~Peer();                                 // it ends by itself, or else is killed
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Its answer; a descriptor that comes with it is in `file`, the caller's to close.
  CUresult Do(Message& message, int* file = nullptr) const;
  // The same in two, so that several do it at once.
  void Tell(const Message& message) const;
  void Hear(Message& message) const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

// `memory peer 0`: the other process.
int RunPeer();

}  // namespace tessera::card
