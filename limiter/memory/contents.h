// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>

#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/sparse.h"

namespace tessera::limiter {

inline bool IsIn(CUcontext context, Sort sort, uint64_t key, Table* table) {
  if (sort != Sort::kLinear && sort != Sort::kOpened) {
    Holding holding;
    return table->Find(sort, key, &holding) && holding.other == (uint64_t)context;
  }
  CUcontext found = nullptr;
  const auto attribute = CU_POINTER_ATTRIBUTE_CONTEXT;
  return TheDriver().cuPointerGetAttribute(&found, attribute, key) == CUDA_SUCCESS &&
         found == context;
}

// Finds the allocations of a context before it ends, while the driver still knows them. Each is
// tagged, since after the end other threads may get the same addresses. The driver answers only
// threads with a current context, so this context is pushed and popped.
class Contents {
 public:
  explicit Contents(CUcontext context) : context_(context), table_(TheTable()) {
    const PushedContext pushed(context);
    for (size_t i = 0; i < kCount && context != nullptr && table_ != nullptr; ++i) {
      keys_[i] = table_->Keys(kSorts[i], &counts_[i]);
      for (size_t at = 0; keys_[i] != nullptr && at < counts_[i]; ++at) {
        uint64_t& key = keys_[i][at];
        if (key != 0) table_->Tag(kSorts[i], key, tag_);
        if (key != 0 && !IsIn(context, kSorts[i], key, table_)) key = 0;
      }
    }
    if (context != nullptr) MarkChunks(context);
  }
  ~Contents() {
    for (size_t i = 0; i < kCount; ++i) {
      if (keys_[i] != nullptr) munmap(keys_[i], counts_[i] * Table::kKeySize);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // After the context's end: uncounts what is still tagged.
  void Release() {
    if (context_ != nullptr) ReleaseChunks(context_);
    for (size_t i = 0; i < kCount; ++i) {
      for (size_t at = 0; keys_[i] != nullptr && at < counts_[i]; ++at) {
        const uint64_t key = keys_[i][at];
        Holding holding;
        if (key == 0 || !table_->TakeTagged(kSorts[i], key, tag_, &holding)) continue;
        if (kSorts[i] == Sort::kSparse) UncountTiles(TakeTiles(key));
        GiveUp(kSorts[i], holding, MemoryRelease(holding.device, false));
      }
    }
  }

 private:
  static constexpr Sort kSorts[] = {Sort::kLinear,    Sort::kOpened, Sort::kArray,
                                    Sort::kMipmapped, Sort::kModule, Sort::kLibrary,
                                    Sort::kHeap,      Sort::kSparse, Sort::kExternal};
  static constexpr size_t kCount = sizeof kSorts / sizeof kSorts[0];

  static inline constinit std::atomic<uint32_t> last_tag_{0};

  CUcontext const context_;
  Table* const table_;
  const uint32_t tag_ = last_tag_.fetch_add(1, std::memory_order_relaxed) + 1;
  uint64_t* keys_[kCount] = {};
  size_t counts_[kCount] = {};
};

}  // namespace tessera::limiter
