// SPDX-License-Identifier: Apache-2.0
// Contexts. What was allocated in one goes with it, without a call for each piece.
#include <sys/mman.h>

#include <atomic>

#include "limiter/memory/charge.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

constexpr Sort kSorts[] = {Sort::kLinear, Sort::kArray, Sort::kMipmapped};
constexpr int kMostDevices = 64;

// The primary contexts that this process retained.
constinit std::atomic<CUcontext> primaries[kMostDevices] = {};

CUcontext PrimaryOf(CUdevice device) {
  return device >= 0 && device < kMostDevices ? primaries[device].load(std::memory_order_acquire)
                                              : nullptr;
}

bool IsIn(CUcontext context, Sort sort, uint64_t key, Table* table) {
  if (sort != Sort::kLinear) {
    Holding holding;
    return table->Find(sort, key, &holding) && holding.other == (uint64_t)context;
  }
  CUcontext found = nullptr;
  const auto attribute = CU_POINTER_ATTRIBUTE_CONTEXT;
  return TheDriver().cuPointerGetAttribute(&found, attribute, key) == CUDA_SUCCESS &&
         found == context;
}

// What is in a context; asked before it ends, for then nobody knows.
class Contents {
 public:
  explicit Contents(CUcontext context) : table_(TheTable()) {
    for (size_t i = 0; i < 3 && context != nullptr && table_ != nullptr; ++i) {
      keys_[i] = table_->Keys(kSorts[i], &counts_[i]);
      for (size_t at = 0; keys_[i] != nullptr && at < counts_[i]; ++at) {
        uint64_t& key = keys_[i][at];
        if (key != 0 && !IsIn(context, kSorts[i], key, table_)) key = 0;
      }
    }
  }
  ~Contents() {
    for (size_t i = 0; i < 3; ++i) {
      if (keys_[i] != nullptr) munmap(keys_[i], counts_[i] * Table::kKeySize);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // The context has ended.
  void Release() {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t at = 0; keys_[i] != nullptr && at < counts_[i]; ++at) {
        Holding holding;
        if (keys_[i][at] == 0 || !table_->Take(kSorts[i], keys_[i][at], &holding)) continue;
        tessera::limiter::Release(holding.device, holding.bytes, Kind::kData);
      }
    }
  }

 private:
  Table* const table_;
  uint64_t* keys_[3] = {};
  size_t counts_[3] = {};
};

template <typename Call>
CUresult End(CUcontext context, Call call) {
  Contents contents(context);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) contents.Release();
  return result;
}

// A primary context ends when the last one who retained it releases it.
template <typename Call>
CUresult ReleasePrimary(CUdevice device, Call call) {
  Contents contents(PrimaryOf(device));
  const CUresult result = call();
  unsigned flags = 0;
  int active = 1;
  if (result == CUDA_SUCCESS &&
      TheDriver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
      active == 0) {
    contents.Release();
  }
  return result;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult result = TheDriver().cuDevicePrimaryCtxRetain(context, device);
  if (result == CUDA_SUCCESS && device >= 0 && device < kMostDevices) {
    primaries[device].store(*context, std::memory_order_release);
  }
  return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return ReleasePrimary(device, [&] { return TheDriver().cuDevicePrimaryCtxRelease(device); });
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return ReleasePrimary(device, [&] { return TheDriver().cuDevicePrimaryCtxRelease_v2(device); });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return End(PrimaryOf(device), [&] { return TheDriver().cuDevicePrimaryCtxReset(device); });
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return End(PrimaryOf(device), [&] { return TheDriver().cuDevicePrimaryCtxReset_v2(device); });
}
CUresult cuCtxDestroy(CUcontext context) {
  return End(context, [&] { return TheDriver().cuCtxDestroy(context); });
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  return End(context, [&] { return TheDriver().cuCtxDestroy_v2(context); });
}
