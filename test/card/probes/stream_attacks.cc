// SPDX-License-Identifier: Apache-2.0
// A stream that waits for the host, so that what was launched behind that is not done for long
// (test/limiter/attacks_stream_test.cc).
#include <atomic>

#include "card/probes/time_share.h"

namespace tessera::card {
namespace {

constexpr unsigned kMoreBlocks = kBlocks + 1;  // another kernel, to the limiter

class HeldStream {
 public:
  HeldStream() {
    const auto wait = [](void* is_let_go) {
      while (!*static_cast<std::atomic<bool>*>(is_let_go)) usleep(100);
    };
    CU_AS(cuLaunchHostFunc, CUstream, void (*)(void*), void*)(stream_, wait, &is_let_go_);
  }
  ~HeldStream() { LetGo(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  void LetGo() {
    is_let_go_ = true;
    Synchronize();
  }
  CUstream stream() const { return stream_; }

 private:
  const CUstream stream_ = NewStream();
  std::atomic<bool> is_let_go_ = false;
};

CUresult OtherStreams(uint64_t) {
  const Kernels kernels;
  const CUstream other = NewStream();
  const HeldStream held;
  Share share, of_others;
  for (int i = 0; i < 10; ++i) kernels.Run(share, 2 * kMs, kBlocks, held.stream());
  const uint64_t before = Measure().charged;
  for (int i = 0; i < 5; ++i) {
    kernels.Run(of_others, 3 * kMs, kMoreBlocks, other);
    CU(cuStreamSynchronize)(other);
  }
  SayCharged(before, of_others.had());
  return of_others.launched();
}

CUresult OnceItIsLetGo(uint64_t) {
  const Kernels kernels;
  kernels.AwaitTrust();
  const uint64_t before = Measure().charged;
  Share share;
  kernels.Teach(share, 2 * kMs);
  HeldStream held;
  for (int i = 0; i < 40; ++i) kernels.Run(share, 5 * kMs, kBlocks, held.stream());
  held.LetGo();
  SayCharged(before, share.had());
  return share.launched();
}

CUresult BesideIt(uint64_t) {
  const Kernels kernels;
  kernels.AwaitTrust();
  const CUstream other = NewStream();
  Share behind;
  kernels.Teach(behind, kMs);
  const HeldStream held;
  // As many as there is room for, and more than 1,024 in all come behind them.
  for (int i = 0; i < 300; ++i) kernels.Run(behind, kMs, kBlocks, held.stream());
  for (int i = 0; i < 1'000; ++i) kernels.Run(behind, kMs / 50, kMoreBlocks, other);
  CU(cuStreamSynchronize)(other);
  Share share;
  while (share.IsWithin(600 * kMs)) kernels.Run(share, 10 * kMs, kBlocks, other);
  CU(cuStreamSynchronize)(other);
  return share.End(20 * kMs);
}

constexpr Step kSteps[] = {
    {"", OtherStreams, Synchronize, "launched beside a stream that waits for the host", true},
    {"", OnceItIsLetGo, Synchronize, "waited for the host, and is let go", true},
    {"", BesideIt, Synchronize, "many launches beside a stream that waits for the host", true},
};

}  // namespace

std::span<const Step> StreamAttackSteps() {
  return kSteps;
}

}  // namespace tessera::card
