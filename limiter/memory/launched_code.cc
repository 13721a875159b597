// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/launched_code.h"

#include <sys/mman.h>

#include "limiter/driver/relaxed.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/lazy.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace tessera::limiter {

constinit KernelsWithCode kernels_with_code{};

namespace {

using Mode = KernelsWithCode::Mode;

constinit std::atomic<uint32_t> contexts = 0;  // that were ever made, or tried

// Constant once the driver is loaded.
Mode FindMode() {
  CUmoduleLoadingMode loading{};
  const CUresult result = TheDriver().cuModuleGetLoadingMode(&loading);
  if (result == CUDA_ERROR_NOT_INITIALIZED) return Mode::kUnknown;
  Mode mode = Mode::kAll;
  if (result == CUDA_SUCCESS && loading == CU_MODULE_LAZY_LOADING) {
    mode = contexts.load(std::memory_order_acquire) > 1 ? Mode::kMore : Mode::kOneContext;
  }
  kernels_with_code.mode.store(mode, std::memory_order_release);
  return mode;
}

uint64_t KeyOf(CUfunction kernel, Mode mode) {
  CUcontext context = nullptr;
  if (mode == Mode::kMore) TheDriver().cuCtxGetCurrent(&context);
  constexpr uint64_t kBits = (uint64_t{1} << 57) - 1;  // of a key of the table
  return (reinterpret_cast<uint64_t>(kernel) +
          reinterpret_cast<uint64_t>(context) * 0x9e37'79b9'7f4a'7c15) &
         kBits;
}

// A library's kernel handle is valid in every context, and has a function in each.
bool IsOfLibrary(CUfunction kernel, Holding* holding) {
  Table* const table = TheTable();
  return table != nullptr &&
         table->Find(Sort::kKernel, reinterpret_cast<uint64_t>(kernel), holding);
}

CodeOwner OwnerOfFunction(CUfunction function) {
  CUmodule module = nullptr;
  if (TheDriver().cuFuncGetModule(&module, function) != CUDA_SUCCESS) return {};
  return {Sort::kModule, reinterpret_cast<uint64_t>(module)};
}

// Other errors are left to the launch.
CUresult LoadNow(CUfunction kernel) {
  const Driver& driver = TheDriver();
  const Relaxed relaxed;
  Holding holding;
  if (!IsOfLibrary(kernel, &holding)) {
    return LoadMore(OwnerOfFunction(kernel), [&] {
      driver.cuFuncLoad(kernel);
      return CUDA_SUCCESS;
    });
  }
  return LoadMore({Sort::kLibrary, holding.other}, [&] {
    CUfunction function = nullptr;
    if (driver.cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(kernel)) == CUDA_SUCCESS) {
      driver.cuFuncLoad(function);
    }
    return CUDA_SUCCESS;
  });
}

// For a call that needs the code.
template <typename Call>
CUresult Loaded(CUfunction function, Call call) {
  const CUresult loaded = MayLoadCode(function) ? LoadCode(function) : CUDA_SUCCESS;
  return loaded == CUDA_SUCCESS ? call() : loaded;
}

void NoteKernel(CUkernel kernel, CUlibrary library) {
  Remember(Sort::kKernel, reinterpret_cast<uint64_t>(kernel),
           {.other = reinterpret_cast<uint64_t>(library), .references = 1});
}

// Removes the holdings of a sort for which is(holding) is true.
template <typename Is>
void TakeAll(Sort sort, Is is) {
  Table* const table = TheTable();
  size_t count = 0;
  uint64_t* const keys = table == nullptr ? nullptr : table->Keys(sort, &count);
  if (keys == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    Holding holding;
    if (keys[i] != 0 && table->Find(sort, keys[i], &holding) && is(holding)) {
      table->Take(sort, keys[i], &holding);
    }
  }
  munmap(keys, count * Table::kKeySize);
}

}  // namespace

void KernelsWithCode::Add(uint64_t key) {
  Set& set = sets_[SetOf(key)];
  const uint64_t first = set.keys[0].exchange(key, std::memory_order_relaxed);
  set.keys[1].store(first, std::memory_order_relaxed);
}

void KernelsWithCode::Clear() {
  for (Set& set : sets_) {
    for (auto& key : set.keys) key.store(0, std::memory_order_relaxed);
  }
}

CUresult LoadCode(CUfunction kernel) {
  Mode mode = kernels_with_code.mode.load(std::memory_order_acquire);
  if (mode == Mode::kUnknown) mode = FindMode();
  if (mode == Mode::kUnknown || mode == Mode::kAll || kernel == nullptr) return CUDA_SUCCESS;
  const uint64_t key = KeyOf(kernel, mode);
  if (kernels_with_code.Has(key)) return CUDA_SUCCESS;
  Table* const table = TheTable();
  Holding holding;
  if (table == nullptr || CurrentDevice() < 0) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  if (!table->Find(Sort::kKernelWithCode, key, &holding)) {
    result = LoadNow(kernel);
    table->Add(Sort::kKernelWithCode, key, {.references = 1});
  }
  kernels_with_code.Add(key);
  return result;
}

void SayContext() {
  if (contexts.fetch_add(1, std::memory_order_acq_rel) == 0) return;
  has_several_contexts.store(true);
  Mode one = Mode::kOneContext;
  kernels_with_code.mode.compare_exchange_strong(one, Mode::kMore, std::memory_order_acq_rel);
}

void ForgetCode(CUlibrary library) {
  if (kernels_with_code.mode.load(std::memory_order_acquire) == Mode::kAll) return;
  TakeAll(Sort::kKernelWithCode, [](const Holding&) { return true; });
  if (library != nullptr) {
    TakeAll(Sort::kKernel, [&](const Holding& kernel) {
      return kernel.other == reinterpret_cast<uint64_t>(library);
    });
  }
  kernels_with_code.Clear();
}

}  // namespace tessera::limiter

CUresult cuLibraryGetKernel(CUkernel* answer, CUlibrary library, const char* name) {
  return Answered(answer, [&](CUkernel* out) {
    const CUresult result = TheDriver().cuLibraryGetKernel(out, library, name);
    if (result == CUDA_SUCCESS) NoteKernel(*out, library);
    return result;
  });
}
CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary library) {
  const CUresult result = TheDriver().cuLibraryEnumerateKernels(out, count, library);
  for (unsigned i = 0; result == CUDA_SUCCESS && i < count; ++i) NoteKernel(out[i], library);
  return result;
}
CUresult cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
  Holding holding;
  const bool known = IsOfLibrary(reinterpret_cast<CUfunction>(kernel), &holding);
  return LoadMore(known ? CodeOwner{Sort::kLibrary, holding.other} : CodeOwner{},
                  [&] { return TheDriver().cuKernelGetFunction(out, kernel); });
}
CUresult cuFuncLoad(CUfunction function) {
  return LoadMore(OwnerOfFunction(function), [&] { return TheDriver().cuFuncLoad(function); });
}
CUresult cuFuncGetAttribute(int* out, int attribute, CUfunction function) {
  return Loaded(function, [&] { return TheDriver().cuFuncGetAttribute(out, attribute, function); });
}
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  return Loaded(function,
                [&] { return TheDriver().cuFuncSetAttribute(function, attribute, value); });
}
