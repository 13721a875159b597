// SPDX-License-Identifier: Apache-2.0
// Green contexts. Each retains the primary context, which owns all allocations in it. The hook of
// that retain counts the primary context, or refuses it. A green context's own memory is measured
// as the drop in free memory.
#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/graph_places.h"
#include "limiter/memory/watch.h"
#include "limiter/time/meter.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// The caller holds the primary context, in addition to the green one.
CUresult Create(CUgreenCtx* out, CUdevResourceDesc resources, CUdevice device, unsigned flags,
                int place) {
  const Driver& driver = TheDriver();
  const Watch watch(device);
  const CUresult result =
      Patiently([&] { return driver.cuGreenCtxCreate(out, resources, device, flags); });
  if (result != CUDA_SUCCESS) return result;
  const uint64_t bytes = watch.Taken();
  if (ReserveOrTrim(place, bytes, Kind::kContext)) {
    const Holding holding{
        .bytes = bytes, .other = static_cast<uint64_t>(device), .device = place, .references = 1};
    if (Remember(Sort::kGreen, reinterpret_cast<uint64_t>(*out), holding)) return CUDA_SUCCESS;
    Release(place, bytes, Kind::kContext);
  }
  driver.cuGreenCtxDestroy(*out);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// False if the primary context was reset meanwhile: none must be made then.
bool RetainPrimary(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  CUcontext primary = nullptr;
  return TheDriver().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
         active != 0 && cuDevicePrimaryCtxRetain(&primary, device) == CUDA_SUCCESS;
}

}  // namespace

CUresult cuGreenCtxCreate(CUgreenCtx* answer, CUdevResourceDesc resources, CUdevice device,
                          unsigned flags) {
  SayDevice(device);
  const int place = answer == nullptr ? -1 : PlaceOfDevice(device);
  if (place < 0) return TheDriver().cuGreenCtxCreate(answer, resources, device, flags);
  CUcontext primary = nullptr;
  const CUresult retained = cuDevicePrimaryCtxRetain(&primary, device);
  if (retained != CUDA_SUCCESS) return retained;
  const CUresult result = Answered(
      answer, [&](CUgreenCtx* out) { return Create(out, resources, device, flags, place); });
  cuDevicePrimaryCtxRelease_v2(device);
  return result;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  const Driver& driver = TheDriver();
  const auto key = reinterpret_cast<uint64_t>(green);
  Holding holding;
  Table* const table = TheTable();
  if (table == nullptr || !table->Find(Sort::kGreen, key, &holding)) {
    return driver.cuGreenCtxDestroy(green);
  }
  CUcontext context = nullptr;
  const bool has_context = driver.cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS;
  // The primary context goes with its last holder. Held here, it ends in a call that counts the
  // end.
  const auto device = static_cast<CUdevice>(holding.other);
  const bool held = RetainPrimary(device);
  const auto destroy = [&] {
    // Where the driver does not wait, launches would run on unmeasured after the destroy.
    if (has_context) AwaitMeasures(context);
    ContextEnd end(context);
    const CUresult result = driver.cuGreenCtxDestroy(green);
    if (result == CUDA_SUCCESS) end.Ended();
    return result;
  };
  const CUresult result = Free(Sort::kGreen, key, destroy);
  if (result == CUDA_SUCCESS && has_context) {
    table->Take(Sort::kGreenContext, reinterpret_cast<uint64_t>(context), &holding);
  }
  if (held) cuDevicePrimaryCtxRelease_v2(device);
  return result;
}

CUresult cuCtxFromGreenCtx(CUcontext* answer, CUgreenCtx green) {
  return Answered(answer, [green](CUcontext* out) {
    const CUresult result = TheDriver().cuCtxFromGreenCtx(out, green);
    Holding holding;
    Table* const table = TheTable();
    if (result != CUDA_SUCCESS || table == nullptr ||
        !table->Find(Sort::kGreen, reinterpret_cast<uint64_t>(green), &holding)) {
      return result;
    }
    CUcontext const primary = PrimaryOf(static_cast<CUdevice>(holding.other));
    has_green_contexts.store(true, std::memory_order_release);
    Remember(Sort::kGreenContext, reinterpret_cast<uint64_t>(*out),
             {.other = reinterpret_cast<uint64_t>(primary), .references = 1});
    return result;
  });
}
