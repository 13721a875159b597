// SPDX-License-Identifier: Apache-2.0
// Contexts. One takes memory of its device, which the driver does not tell: the difference that it
// makes to what is free is taken, where somebody can look before and after. What was allocated in a
// context goes with it, without a call for each piece.
#include <atomic>

#include "limiter/memory/charge.h"
#include "limiter/memory/contents.h"
#include "limiter/memory/watch.h"
#include "limiter/time/meter.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

constexpr int kMostDevices = 64;

// The primary contexts that this process retained.
constinit std::atomic<CUcontext> primaries[kMostDevices] = {};

CUcontext PrimaryOf(CUdevice device) {
  return device >= 0 && device < kMostDevices ? primaries[device].load(std::memory_order_acquire)
                                              : nullptr;
}

void Forget(CUcontext context) {
  Holding holding;
  Table* const table = TheTable();
  if (context == nullptr || table == nullptr) return;
  if (!table->Take(Sort::kContext, (uint64_t)context, &holding)) return;
  Release(holding.device, holding.bytes, Kind::kContext);
}

// With a primary context goes what its device kept for pools and graphs.
void SettleKept(CUdevice device) {
  SettlePools(PlaceOfDevice(device));
  SettleGraphs(device);
}

template <typename Call>
CUresult End(CUcontext context, Call call) {
  Contents contents(context);
  ForgetSamples(context);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) {
    contents.Release();
    Forget(context);
  }
  return result;
}

// A context is made by call(), and ended by undo() if there is no room for it after all.
template <typename Call, typename Undo>
CUresult Create(CUcontext* out, CUdevice device, Call call, Undo undo) {
  const int place = out == nullptr ? -1 : PlaceOfDevice(device);
  if (place < 0) return call();
  uint64_t bytes = ContextBytes(place);
  if (!ReserveOrTrim(place, bytes, Kind::kContext)) return CUDA_ERROR_OUT_OF_MEMORY;
  const Watch watch(device);
  const CUresult result = Patiently(call);
  if (result == CUDA_SUCCESS) NoteContextBytes(place, watch.Taken());
  const uint64_t measured = bytes == 0 ? ContextBytes(place) : 0;
  const bool has_room = result != CUDA_SUCCESS || ReserveOrTrim(place, measured, Kind::kContext);
  if (has_room) bytes += measured;
  Table* const table = TheTable();
  // Where two threads retain one at once, one of them counts it.
  const bool counted =
      result == CUDA_SUCCESS && has_room && table != nullptr &&
      table->Add(Sort::kContext, (uint64_t)*out, {.bytes = bytes, .device = place});
  if (!counted) Release(place, bytes, Kind::kContext);
  if (has_room) return result;
  undo();
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// A primary context ends when the last one who retained it releases it.
template <typename Call>
CUresult ReleasePrimary(CUdevice device, Call call) {
  Contents contents(PrimaryOf(device));
  ForgetSamples(PrimaryOf(device));
  const CUresult result = call();
  unsigned flags = 0;
  int active = 1;
  if (result == CUDA_SUCCESS &&
      TheDriver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
      active == 0) {
    contents.Release();
    Forget(PrimaryOf(device));
    SettleKept(device);
  }
  return result;
}

template <typename Call>
CUresult Reset(CUdevice device, Call call) {
  const CUresult result = End(PrimaryOf(device), call);
  if (result == CUDA_SUCCESS) SettleKept(device);
  return result;
}

}  // namespace

int tessera::limiter::PlaceOfStream(CUstream stream) {
  CUcontext context = nullptr;
  if (TheDriver().cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context != nullptr) {
    for (int device = 0; device < kMostDevices; ++device) {
      if (PrimaryOf(device) == context) return PlaceOfDevice(device);
    }
  }
  return CurrentPlace();
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const Driver& driver = TheDriver();
  const auto retain = [&] { return driver.cuDevicePrimaryCtxRetain(context, device); };
  unsigned flags = 0;
  int active = 0;
  const bool is_there =
      driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
  const auto release = [&] { return driver.cuDevicePrimaryCtxRelease_v2(device); };
  const CUresult result = is_there ? retain() : Create(context, device, retain, release);
  if (result == CUDA_SUCCESS && device >= 0 && device < kMostDevices) {
    primaries[device].store(*context, std::memory_order_release);
  }
  return result;
}

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device, [&] { return driver.cuCtxCreate(context, flags, device); },
      [&] { return driver.cuCtxDestroy(*context); });
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device, [&] { return driver.cuCtxCreate_v2(context, flags, device); },
      [&] { return driver.cuCtxDestroy_v2(*context); });
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                        unsigned flags, CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device,
      [&] { return driver.cuCtxCreate_v3(context, affinity, count, flags, device); },
      [&] { return driver.cuCtxDestroy_v2(*context); });
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                        CUdevice device) {
  const Driver& driver = TheDriver();
  return Create(
      context, device, [&] { return driver.cuCtxCreate_v4(context, params, flags, device); },
      [&] { return driver.cuCtxDestroy_v2(*context); });
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
