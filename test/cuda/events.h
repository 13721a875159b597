// SPDX-License-Identifier: Apache-2.0
// Events: what a handle of one points to. Any thread.
#pragma once

#include <atomic>

#include "cuda/streams.h"

struct CUevent_st {
  CUevent_st(CUcontext of, unsigned with_flags) : context(of), flags(with_flags) {}

  const CUcontext context;
  const unsigned flags;
  std::atomic<bool> recorded = false;
  std::atomic<uint64_t> at = 0;                    // when it was recorded
  std::atomic<tessera::fake_cuda::Mark> mark = 0;  // kNever: behind what waits for the host
  std::atomic<uint64_t> recordings = 0;
  std::atomic<tessera::fake_cuda::Capture*> capture = nullptr;  // that it was recorded in
};

namespace tessera::fake_cuda {

// Until the host has let go what it was recorded behind.
void AwaitRecorded(const CUevent_st& event);

}  // namespace tessera::fake_cuda
