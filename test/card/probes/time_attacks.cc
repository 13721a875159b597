// SPDX-License-Identifier: Apache-2.0
// Ways in which a program could take more of the card's time than its share: those that the limiter
// refuses over the simulated card (test/limiter/attacks_time_test.cc). Contexts are made before,
// for which a real card takes longer than the kernels run.
#include <algorithm>
#include <array>

#include "card/probes/peer.h"
#include "card/probes/time_share.h"

namespace tessera::card {
namespace {

constexpr uint64_t kShort = 10'000, kMiddle = 2 * kMs, kLong = 50 * kMs;

CUresult ReleasedThoughItGoesOn(uint64_t) {
  const Kernels kernels;
  CUcontext again = nullptr;
  Share share;
  while (share.IsWithin(600 * kMs)) {
    kernels.Run(share, kLong);
    CU(cuDevicePrimaryCtxRetain)(&again, 0);
    CU(cuDevicePrimaryCtxRelease_v2)(0);
  }
  Synchronize();
  return share.End(2 * kLong);
}

template <bool is_awaited>
CUresult OfContextsThatEnd(uint64_t) {
  struct Own {
    CUcontext context;
    CUfunction kernel;
  };
  std::array<Own, 5> all{};
  for (Own& own : all) {
    const CUresult made = CU(cuCtxCreate_v2)(&own.context, 0, 0);
    if (made != CUDA_SUCCESS) return made;
    own.kernel = SpinKernel();
  }
  Share share;
  for (const Own& own : all) {
    CU(cuCtxSetCurrent)(own.context);
    const CUresult launched = Spin(own.kernel, kLong, kBlocks);
    const uint64_t from = Now();
    if (is_awaited) {
      WaitUnseen();
      CU(cuCtxSetCurrent)(nullptr);
    }
    CU(cuCtxDestroy_v2)(own.context);
    share.Add(launched, std::min(kLong, Now() - from));  // it may end with its context
  }
  return share.End(2 * kLong);
}

CUresult SometimesShort(uint64_t) {
  const Peer sibling;
  Message message{.order = Order::kLoad};
  const CUresult ran = sibling.Do(message);
  if (ran != CUDA_SUCCESS) return ran;
  const Kernels kernels;
  kernels.AwaitTrust();
  Share share;
  for (int i = 0; i < 20; ++i) kernels.Teach(share, kShort);
  while (share.IsWithin(1'200 * kMs)) {
    kernels.Run(share, kMiddle);
    WaitUnseen();
  }
  return share.End(400 * kMs);  // by chance, and what is not explained is let pass
}

CUresult LongWhereNoneIsMeasured(uint64_t) {
  const Kernels kernels;
  kernels.AwaitTrust();
  Share share;
  kernels.Teach(share, kShort);
  for (uint32_t launch = 2; share.IsWithin(600 * kMs); ++launch) {
    const bool is_turn = launch * 0x9e3779b9U >> 28 == 0;
    kernels.Run(share, is_turn ? kShort : kMiddle);
    WaitUnseen();
  }
  return share.End(200 * kMs);
}

CUresult NewOnesFirstShort(uint64_t) {
  const Kernels kernels;
  kernels.AwaitTrust();
  Share share;
  for (unsigned blocks = kBlocks; share.IsWithin(600 * kMs); ++blocks) {
    kernels.Teach(share, kShort, blocks);
    kernels.Run(share, kMiddle, blocks);
  }
  Synchronize();
  return share.End(200 * kMs);
}

constexpr Step kSteps[] = {
    {"", ReleasedThoughItGoesOn, Synchronize, "a context is released and goes on", true},
    {"", OfContextsThatEnd<true>, Synchronize, "of contexts that end", true},
    {"", OfContextsThatEnd<false>, Synchronize, "of contexts that end while it runs", true},
    {"", SometimesShort, Synchronize, "a kernel that sometimes is short, beside a sibling", true},
    {"", LongWhereNoneIsMeasured, Synchronize, "long where launches are not measured", true},
    {"", NewOnesFirstShort, Synchronize, "new kernels, first short and then long", true},
};

}  // namespace

std::span<const Step> TimeAttackSteps() {
  return kSteps;
}

}  // namespace tessera::card
