// SPDX-License-Identifier: Apache-2.0
// Code that is loaded no sooner than it is needed (CUDA_MODULE_LOADING=LAZY), by calls that are for
// something else. Any thread.
#pragma once

#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/watch.h"

namespace tessera::limiter {

inline CUdevice CurrentDevice() {
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

// Of what code is, by which it is known: its module or library. What is not known is the current
// context's, with which it goes at the latest.
struct CodeOwner {
  Sort sort = Sort::kHeap;
  uint64_t key = 0;
};

// Of something that is held already.
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

// Where a module's code is loaded, whichever context is current; null: in the current one.
inline CUcontext ContextOf(const CodeOwner& owner) {
  Holding module;
  Table* const table = TheTable();
  const bool is_known = owner.sort == Sort::kModule && table != nullptr &&
                        table->Find(Sort::kModule, owner.key, &module);
  auto* const context = is_known ? reinterpret_cast<CUcontext>(module.other) : nullptr;
  return context == CurrentOwner() ? nullptr : context;
}

// A call that may load what was put off. There is no way back: what does not fit is counted all the
// same, and the program is told. Nor can it be measured again: memory of a dead process that comes
// back meanwhile would hide what is loaded, so that is waited for, for as long as it may take.
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
