// SPDX-License-Identifier: Apache-2.0
// Code that a launch loads: where code is loaded no sooner than it is needed, that of a kernel may
// come with its first launch in a context. Each launch looks whether its kernel was launched
// before; of one that was not, the code is loaded, and counted, before the launch. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limiter/driver/cuda.h"

namespace tessera::limiter {

// The kernels that have their code, as many as fit; what is not here is looked up (LoadCode).
class KernelsWithCode {
 public:
  enum class Mode : uint8_t {
    kUnknown,
    kAll,         // nothing is loaded by launches
    kOneContext,  // by handle
    kMore         // by handle and context, for one handle may be for several (CUkernel)
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

// Whether a launch of it is to be preceded by LoadCode().
inline bool MayLoadCode(CUfunction kernel) {
  using Mode = KernelsWithCode::Mode;
  const Mode mode = kernels_with_code.mode.load(std::memory_order_relaxed);
  if (mode == Mode::kAll) return false;
  return mode != Mode::kOneContext || !kernels_with_code.Has(reinterpret_cast<uint64_t>(kernel));
}
// An error: there is no room for it.
CUresult LoadCode(CUfunction kernel);

// A context is about to be made.
void SayContext();
// A context, a module, or this library goes, and another kernel may get the handle of one in it.
void ForgetCode(CUlibrary library);

}  // namespace tessera::limiter
