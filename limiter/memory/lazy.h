// SPDX-License-Identifier: Apache-2.0
// Code that is loaded only when it is needed (CUDA_MODULE_LOADING=LAZY), by calls with another
// purpose. Any thread.
#pragma once

#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/watch.h"

namespace tessera::limiter {

inline CUdevice CurrentDevice() {
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

// The module or library of a piece of code. If unknown, the code is counted for the current context
// and goes with it at the latest.
struct CodeOwner {
  Sort sort = Sort::kHeap;
  uint64_t key = 0;
};

// Adds bytes to a recorded owner.
inline void AddTo(const CodeOwner& owner, int place, uint64_t bytes) {
  Holding after;
  Table* const table = TheTable();
  if (table == nullptr || table->Count(owner.sort, owner.key, 0, 0, bytes, &after)) return;
  const auto context = reinterpret_cast<uint64_t>(CurrentOwner());
  if (table->Count(Sort::kHeap, context, 0, 0, bytes, &after)) return;
  table->Add(Sort::kHeap, context,
             {.bytes = bytes, .other = context, .device = place, .references = 1});
}

inline bool IsLazy() {
  CUmoduleLoadingMode mode{};
  return TheDriver().cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS &&
         mode == CU_MODULE_LAZY_LOADING;
}

// The context into which a module's code is loaded; null: the current one.
inline CUcontext ContextOf(const CodeOwner& owner) {
  Holding module;
  Table* const table = TheTable();
  const bool is_known = owner.sort == Sort::kModule && table != nullptr &&
                        table->Find(Sort::kModule, owner.key, &module);
  auto* const context = is_known ? reinterpret_cast<CUcontext>(module.other) : nullptr;
  return context == CurrentOwner() ? nullptr : context;
}

// A call that may load deferred code. It cannot be undone: code without room is counted all the
// same, and the call fails. It cannot be measured twice either. A dead process's memory that comes
// free meanwhile would hide the loaded code, so that is awaited first.
template <typename Call>
CUresult LoadMore(const CodeOwner& owner, Call call) {
  const PushedContext pushed(ContextOf(owner));
  const CUdevice device = CurrentDevice();
  const int place = device < 0 ? -1 : PlaceOfDevice(device);
  if (place < 0 || place == kDeniedDevice || !IsLazy()) return call();
  ReapAll();
  for (int i = 0; i < 60 && ReapedLately(); ++i) PauseForTheDead();
  const Watch watch(device);
  const CUresult result = Patiently(call);
  const uint64_t bytes = watch.Taken();
  if (bytes == 0) return result;
  const bool has_room = ReserveOrTrim(place, bytes, Kind::kModule);
  if (!has_room) Count(place, bytes, Kind::kModule);
  AddTo(owner, place, bytes);
  return has_room ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace tessera::limiter
