// SPDX-License-Identifier: Apache-2.0
// Code that a launch loads. With lazy loading, a kernel's code may be loaded by its first launch in
// a context. Each launch checks whether its kernel has its code. If not, the code is loaded and
// counted first. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// A cache of kernels that have their code; a miss goes to LoadCode().
class KernelsWithCode {
 public:
  enum class Mode : uint8_t {
    kUnknown,
    kAll,         // launches load no code
    kOneContext,  // by handle
    kMore         // by handle and context: a CUkernel serves several contexts
  };

  bool Has(uint64_t key) const {
    const Set& set = sets_[SetOf(key)];
    return set.keys[0].load(std::memory_order_relaxed) == key ||
           set.keys[1].load(std::memory_order_relaxed) == key;
  }
  void Add(uint64_t key);
  void Clear();

  std::atomic<Mode> mode;

 private:
  static constexpr int kBits = 10;
  static size_t SetOf(uint64_t key) { return key * 0x9e37'79b9'7f4a'7c15 >> (64 - kBits); }
  struct Set {
    std::atomic<uint64_t> keys[2];
  };
  Set sets_[size_t{1} << kBits];
};
extern KernelsWithCode kernels_with_code;

// True if LoadCode() must precede the launch.
inline bool MayLoadCode(CUfunction kernel) {
  using Mode = KernelsWithCode::Mode;
  const Mode mode = kernels_with_code.mode.load(std::memory_order_relaxed);
  if (mode == Mode::kAll) return false;
  return mode != Mode::kOneContext || !kernels_with_code.Has(reinterpret_cast<uint64_t>(kernel));
}
// An error: no room for the code.
CUresult LoadCode(CUfunction kernel);

// A context is about to be made.
void SayContext();
// A context, a module or this library is about to go, and another kernel may get the same handle.
void ForgetCode(CUlibrary library);

}  // namespace tessera::limiter
