// SPDX-License-Identifier: Apache-2.0
// Contexts. The driver does not report the memory that a context takes. It is measured as the drop
// in free memory, if the caller can read that before and after. For the container's first context
// NVML's report is used. All allocations in a context go with it, without a call for each.
#include "limiter/memory/contexts.h"

#include <atomic>

#include "limiter/accounting/cancel.h"
#include "limiter/accounting/mutex.h"
#include "limiter/accounting/process_memory.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/contents.h"
#include "limiter/memory/graph_places.h"
#include "limiter/memory/launched_code.h"
#include "limiter/memory/newcomer.h"
#include "limiter/memory/watch.h"
#include "limiter/time/meter.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

constexpr int kMostDevices = 64;

// The primary contexts that this process retained.
constinit std::atomic<CUcontext> primaries[kMostDevices] = {};

// The number of contexts without a size, of this process and of those it was forked from.
constinit std::atomic<uint32_t> uncounted = 0;

void Forget(CUcontext context) {
  ForgetCode(nullptr);
  Holding holding;
  Table* const table = TheTable();
  if (context == nullptr || table == nullptr) return;
  if (!table->Take(Sort::kContext, (uint64_t)context, &holding)) return;
  if (holding.bytes == 0) uncounted.fetch_sub(1, std::memory_order_relaxed);
  Release(holding.device, holding.bytes, Kind::kContext);
}

// Memory that a device kept for pools and graphs goes with its primary context.
void SettleKept(CUdevice device) {
  SettlePools(PlaceOfDevice(device));
  SettleGraphs(device);
}

template <typename Call>
CUresult End(CUcontext context, Call call) {
  Contents contents(context);
  ContextEnd end(context);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    end.Ended();
    contents.Release();
    Forget(context);
  }
  return result;
}

// Runs call() and notes the size of the context that it makes.
template <typename Call>
CUresult Measure(CUdevice device, int place, Call call) {
  const Watch watch(device);
  if (ContextBytes(place) == 0 && watch.is_blind()) {
    const NewContext newcomer(device);
    const CUresult result = Patiently(call);
    if (result == CUDA_SUCCESS) NoteContextBytes(place, newcomer.Bytes());
    return result;
  }
  const CUresult result = Patiently(call);
  const uint64_t taken = result == CUDA_SUCCESS ? watch.Taken() : 0;
  if (!watch.is_disturbed()) NoteContextBytes(place, taken);
  return result;
}

// Makes a context by call(). undo() ends it if there is no room for it after all.
template <typename Call, typename Undo>
CUresult CreateOwn(CUcontext* out, CUdevice device, Call call, Undo undo) {
  SayContext();
  SayDevice(device);
  const int place = out == nullptr ? -1 : PlaceOfDevice(device);
  if (place < 0) return call();
  uint64_t bytes = ContextBytes(place);
  if (!ReserveOrTrim(place, bytes, Kind::kContext)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = Measure(device, place, call);
  const uint64_t measured = bytes == 0 ? ContextBytes(place) : 0;
  const bool has_room = result != CUDA_SUCCESS || ReserveOrTrim(place, measured, Kind::kContext);
  if (has_room) bytes += measured;
  Table* const table = TheTable();
  // If two threads retain the same context at once, Add() lets one of them count it.
  const bool counted = result == CUDA_SUCCESS && has_room && table != nullptr &&
                       table->Add(Sort::kContext, (uint64_t)*out,
                                  {.bytes = bytes, .device = place, .references = 1});
  if (counted && bytes == 0) uncounted.fetch_add(1, std::memory_order_release);
  CountLate(place);
  if (!counted) Release(place, bytes, Kind::kContext);
  if (has_room) return result;
  undo();
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// call(out), undo(context).
template <typename Call, typename Undo>
CUresult Create(CUcontext* answer, CUdevice device, Call call, Undo undo) {
  return Answered(answer, [&](CUcontext* out) {
    return CreateOwn(out, device, [&] { return call(out); }, [&] { return undo(*out); });
  });
}

bool IsActive(CUdevice device, bool if_nobody_knows) {
  unsigned flags = 0;
  int active = 0;
  const bool known =
      TheDriver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS;
  return known ? active != 0 : if_nobody_knows;
}

// Each is held while a device's primary context is released, and while it is borrowed. So a
// borrower never is the last holder, whose release ends the context.
struct Releases {
  Mutex of[kMostDevices];
};
// Null: no such device, or no memory.
Mutex* ReleaseOf(CUdevice device) {
  static constinit ProcessMemory<Releases> releases;
  Releases* const all = device < 0 || device >= kMostDevices ? nullptr : releases.Get();
  return all == nullptr ? nullptr : &all->of[device];
}
template <typename Call>
CUresult Released(CUdevice device, Call call) {
  Mutex* const release = ReleaseOf(device);
  if (release == nullptr) return call();
  const Uncancelled uncancelled;
  const Locked lock(release);
  return call();
}

// A primary context ends when its last holder releases it.
template <typename Call>
CUresult ReleasePrimary(CUdevice device, Call call) {
  Contents contents(PrimaryOf(device));
  ContextEnd end(PrimaryOf(device));
  const CUresult result = Released(device, call);
  if (result == CUDA_SUCCESS && !IsActive(device, true)) {
    end.Ended();
    contents.Release();
    Forget(PrimaryOf(device));
    SettleKept(device);
  }
  return result;
}

template <typename Call>
CUresult Reset(CUdevice device, Call call) {
  const CUresult result = End(PrimaryOf(device), [&] { return Released(device, call); });
  if (result == CUDA_SUCCESS) SettleKept(device);
  return result;
}

// One holder less. True: it was the last one, and the context is recorded still.
bool LetGo(CUcontext context) {
  Holding after;
  Table* const table = TheTable();
  if (table == nullptr) return false;
  if (!table->Count(Sort::kContext, (uint64_t)context, -1, 0, 0, &after)) return false;
  if (after.references != 0) return false;
  after.references = 1;
  return table->Add(Sort::kContext, (uint64_t)context, after);
}

void Hold(CUcontext context) {
  Holding after;
  Table* const table = TheTable();
  if (table != nullptr) table->Count(Sort::kContext, (uint64_t)context, 1, 0, 0, &after);
}

}  // namespace

namespace tessera::limiter {

CUcontext OwnerOf(CUcontext context) {
  if (!has_green_contexts.load(std::memory_order_acquire)) return context;
  Holding green;
  Table* const table = TheTable();
  const bool is_green =
      table != nullptr && table->Find(Sort::kGreenContext, (uint64_t)context, &green);
  return is_green ? reinterpret_cast<CUcontext>(green.other) : context;
}

CUcontext CurrentOwner() {
  CUcontext context = nullptr;
  TheDriver().cuCtxGetCurrent(&context);
  return context == nullptr ? nullptr : OwnerOf(context);
}

CUcontext PrimaryOf(CUdevice device) {
  return device >= 0 && device < kMostDevices ? primaries[device].load(std::memory_order_acquire)
                                              : nullptr;
}

BorrowedPrimary::BorrowedPrimary(CUdevice device) : device_(device) {
  Mutex* const release = ReleaseOf(device);
  if (release == nullptr) return;
  release->Lock();
  const bool is_there = IsActive(device, false) &&
                        TheDriver().cuDevicePrimaryCtxRetain(&context_, device) == CUDA_SUCCESS;
  if (is_there) return;
  context_ = nullptr;
  release->Unlock();
}

BorrowedPrimary::~BorrowedPrimary() {
  if (context_ == nullptr) return;
  TheDriver().cuDevicePrimaryCtxRelease_v2(device_);
  ReleaseOf(device_)->Unlock();
}

void CountLate(int place) {
  const uint64_t bytes = ContextBytes(place);
  Table* const table = TheTable();
  if (uncounted.load(std::memory_order_acquire) == 0 || bytes == 0 || table == nullptr) return;
  size_t count = 0;
  uint64_t* const keys = table->Keys(Sort::kContext, &count);
  if (keys == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    Holding holding;
    if (keys[i] == 0 || !table->Find(Sort::kContext, keys[i], &holding)) continue;
    if (holding.bytes != 0 || holding.device != place) continue;
    Count(place, bytes, Kind::kContext);
    const bool is_there = table->Count(Sort::kContext, keys[i], 0, 0, bytes, &holding);
    if (is_there && holding.bytes == bytes) {
      uncounted.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    // The context ended, or another thread counted it first: undo.
    if (is_there) table->Count(Sort::kContext, keys[i], 0, 0, -bytes, &holding);
    Release(place, bytes, Kind::kContext);
  }
  munmap(keys, count * Table::kKeySize);
}

}  // namespace tessera::limiter

CUresult cuDevicePrimaryCtxRetain(CUcontext* answer, CUdevice device) {
  return Answered(answer, [device](CUcontext* context) {
    const Driver& driver = TheDriver();
    const auto retain = [&] { return driver.cuDevicePrimaryCtxRetain(context, device); };
    const bool is_there = IsActive(device, false);
    const auto release = [&] { return driver.cuDevicePrimaryCtxRelease_v2(device); };
    const CUresult result = is_there ? retain() : CreateOwn(context, device, retain, release);
    if (result == CUDA_SUCCESS && device >= 0 && device < kMostDevices) {
      primaries[device].store(*context, std::memory_order_release);
    }
    return result;
  });
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device, [&](CUcontext* own) { return driver.cuCtxCreate(own, flags, device); },
      driver.cuCtxDestroy);
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device, [&](CUcontext* own) { return driver.cuCtxCreate_v2(own, flags, device); },
      driver.cuCtxDestroy_v2);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                        unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device,
      [&](CUcontext* own) { return driver.cuCtxCreate_v3(own, affinity, count, flags, device); },
      driver.cuCtxDestroy_v2);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                        CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device,
      [&](CUcontext* own) { return driver.cuCtxCreate_v4(own, params, flags, device); },
      driver.cuCtxDestroy_v2);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return ReleasePrimary(device, [&] { return TheDriver().cuDevicePrimaryCtxRelease(device); });
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return ReleasePrimary(device, [&] { return TheDriver().cuDevicePrimaryCtxRelease_v2(device); });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return Reset(device, [&] { return TheDriver().cuDevicePrimaryCtxReset(device); });
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return Reset(device, [&] { return TheDriver().cuDevicePrimaryCtxReset_v2(device); });
}
CUresult cuCtxDestroy(CUcontext context) {
  return End(context, [&] { return TheDriver().cuCtxDestroy(context); });
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  return End(context, [&] { return TheDriver().cuCtxDestroy_v2(context); });
}

CUresult cuCtxAttach(CUcontext* answer, unsigned flags) {
  return Answered(answer, [flags](CUcontext* context) {
    const CUresult result = TheDriver().cuCtxAttach(context, flags);
    if (result == CUDA_SUCCESS) Hold(*context);
    return result;
  });
}
CUresult cuCtxDetach(CUcontext context) {
  const auto detach = [&] { return TheDriver().cuCtxDetach(context); };
  if (LetGo(context)) return End(context, detach);
  const CUresult result = detach();
  if (result != CUDA_SUCCESS) Hold(context);
  return result;
}
