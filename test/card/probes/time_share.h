// SPDX-License-Identifier: Apache-2.0
// For attacks on the card's time: kernels of a given length, and what the container had by them.
// One thread.
#pragma once

#include <time.h>
#include <unistd.h>

#include <string>

#include "card/probes/helpers.h"
#include "card/probes/steps.h"
#include "card/probes/watch.h"
#include "limiter/time/bucket.h"

namespace tessera::card {

inline constexpr uint64_t kMs = 1'000'000;  // ns
inline constexpr unsigned kBlocks = 8;      // of a kernel

inline uint64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000 * kMs + static_cast<uint64_t>(time.tv_nsec);
}

inline std::string Milliseconds(uint64_t ns) {
  return std::to_string(ns / kMs) + " ms";
}

// For what was launched so far, by calls that the limiter does not see.
inline void WaitUnseen() {
  CUevent event = nullptr;
  float ms = 0;
  CU(cuEventCreate)(&event, 0);
  CU(cuEventRecord)(event, nullptr);
  while (CU(cuEventElapsedTime)(&ms, event, event) == CUDA_ERROR_NOT_READY) usleep(20);
  CU(cuEventDestroy_v2)(event);
}

// What the container has had of the card since, beside its share.
class Share {
 public:
  // Until so much time has passed, or so much was launched that the attack has succeeded.
  bool IsWithin(uint64_t ns) const { return Now() - from_ < ns && had_ < 2 * ns; }
  uint64_t had() const { return had_; }
  CUresult launched() const { return launched_.result; }
  void Add(CUresult launched, uint64_t ns) {
    launched_ << launched;
    had_ += ns;
  }
  // Says what came of it. `more`: ns that a container may have once above its share.
  CUresult End(uint64_t more) const {
    const uint64_t passed = Now() - from_;
    const uint64_t most = limiter::kBurst + passed * (kPercent + 2) / 100 + more;
    Say(std::string(had_ > most ? "ESCAPED" : "held") +
        (had_ < limiter::kBurst ? ", but not as meant" : ""));
    Note("had " + Milliseconds(had_) + " in " + Milliseconds(passed) + ", may have " +
         Milliseconds(most));
    return launched_.result;
  }

 private:
  const uint64_t from_ = Now();
  uint64_t had_ = 0;
  FirstFailure launched_;
};

// Of the current context. One thread.
class Kernels {
 public:
  // Works until the limiter takes the agent's word that nobody else has the card, which is a second
  // after the first such word (limiter/time/neighbours.h).
  void AwaitTrust() const {
    for (int i = 0; i < 12; ++i) {
      Spin(kernel_, kMs);
      Synchronize();
      usleep(100'000);
    }
  }
  void Run(Share& share, uint64_t ns, unsigned blocks = kBlocks, CUstream stream = nullptr) const {
    share.Add(Spin(kernel_, ns, blocks, stream), ns);
  }
  // So that the limiter takes kernels of so many blocks for that short.
  void Teach(Share& share, uint64_t ns, unsigned blocks = kBlocks) const {
    for (int i = 0; i < 3; ++i) {
      Run(share, ns, blocks);
      WaitUnseen();
    }
  }

 private:
  const CUfunction kernel_ = SpinKernel();
};

// Whether the container is charged what ran since `before`, but for kernels' beginnings and ends.
inline void SayCharged(uint64_t before, uint64_t ran) {
  const uint64_t charged = Measure().charged - before;
  const uint64_t off = ran / 5 + kMs;
  Say(charged + off < ran   ? "CHARGED TOO LITTLE"
      : charged > ran + off ? "CHARGED TOO MUCH"
                            : "charged");
  Note("charged " + Milliseconds(charged) + " of " + Milliseconds(ran));
}

}  // namespace tessera::card
