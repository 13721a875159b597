// SPDX-License-Identifier: Apache-2.0
// Events: the objects behind CUevent handles. The program owns them. Any thread.
#pragma once

#include <atomic>

#include "cuda/streams.h"

struct CUevent_st {
  CUevent_st(CUcontext of, unsigned with_flags) : context(of), flags(with_flags) {}

  const CUcontext context;
  const unsigned flags;
  std::atomic<bool> recorded = false;
  std::atomic<uint64_t> at = 0;                    // ns: when it was recorded
  std::atomic<tessera::fake_cuda::Mark> mark = 0;  // kNever: recorded behind a host function
  std::atomic<uint64_t> recordings = 0;            // a new one cancels a queued one
  std::atomic<tessera::fake_cuda::Capture*> capture = nullptr;  // in which it was recorded
};

namespace tessera::fake_cuda {

// Blocks until the event's mark is known: until the host functions before it have returned.
void AwaitRecorded(const CUevent_st& event);

}  // namespace tessera::fake_cuda
