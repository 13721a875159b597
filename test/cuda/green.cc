// SPDX-License-Identifier: Apache-2.0
// Green contexts. In CUDA, each has a part of a device's multiprocessors. This fake does not
// simulate that: a kernel has the whole card. A green context retains the primary context, which
// owns its allocations, events and default streams. It takes one chunk of its own.
//
// After it is destroyed, its streams are unusable, and their earlier work runs on. CUDA's
// documentation mentions no wait for that work. No wait is also the hardest case for the limiter.
#include <algorithm>
#include <map>
#include <mutex>

#include "cuda/contexts.h"
#include "cuda/events.h"

struct CUgreenCtx_st {
  CUcontext context = nullptr;
};

namespace tessera::fake_cuda {
namespace {

// A part of a device's multiprocessors, in CUDA 12.4's layout (CUdevResource).
struct Multiprocessors {
  int type = kType;
  char padding[92] = {};
  unsigned count = 0;
  char others[44] = {};
  static constexpr int kType = 1;
};
static_assert(sizeof(Multiprocessors) == 144);

struct Greens {
  std::mutex mutex;  // guards the members below
  std::map<CUgreenCtx, std::unique_ptr<CUgreenCtx_st>> all;
};
Greens& TheGreens() {
  static auto* const greens = new Greens();
  return *greens;
}

CUcontext ContextOf(CUgreenCtx green) {
  Greens& greens = TheGreens();
  const std::lock_guard lock(greens.mutex);
  return greens.all.contains(green) ? green->context : nullptr;
}

// The green context of this context. Null: it has none.
CUgreenCtx OfContext(CUcontext context) {
  Greens& greens = TheGreens();
  const std::lock_guard lock(greens.mutex);
  for (const auto& one : greens.all) {
    if (one.first->context == context) return one.first;
  }
  return nullptr;
}

// A default stream belongs to the current green context.
CUgreenCtx OfStream(CUstream handle, CUstream stream) {
  return OfContext(handle == stream ? stream->green : t_context);
}

// False if a stream is captured or waits for a host function: this fake can then neither record an
// event in it nor make it wait.
bool IsPlain(CUcontext green, CUresult* why_not) {
  *why_not = CUDA_SUCCESS;
  ForEachOfGreen(green, [&](CUstream_st& stream) {
    if (stream.capture != nullptr) *why_not = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream.held) *why_not = CUDA_ERROR_NOT_SUPPORTED;
  });
  return *why_not == CUDA_SUCCESS;
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuDeviceGetDevResource(CUdevice device, Multiprocessors* out, int type) {
  NEED_DRIVER(driver);
  if (out == nullptr || type != Multiprocessors::kType) return CUDA_ERROR_INVALID_VALUE;
  const auto& devices = driver->node.devices;
  const auto place = static_cast<size_t>(device);
  if (place >= devices.size()) return CUDA_ERROR_INVALID_DEVICE;
  *out = {};
  out->count = static_cast<unsigned>(devices[place].multiprocessors);
  return CUDA_SUCCESS;
}

// Groups are multiples of eight multiprocessors, as from compute capability 9.0 on.
FAKE_EXPORT CUresult cuDevSmResourceSplitByCount(Multiprocessors* out, unsigned* groups,
                                                 const Multiprocessors* whole,
                                                 Multiprocessors* rest, unsigned /*flags*/,
                                                 unsigned least) {
  constexpr unsigned kGrain = 8;
  if (groups == nullptr || whole == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const unsigned each = (std::max(least, 1U) + kGrain - 1) / kGrain * kGrain;
  const unsigned made = std::min(out == nullptr ? whole->count : *groups, whole->count / each);
  for (unsigned i = 0; out != nullptr && i < made; ++i) {
    out[i] = {};
    out[i].count = each;
  }
  if (rest != nullptr) *rest = {};
  if (rest != nullptr) rest->count = whole->count - made * each;
  *groups = made;
  return CUDA_SUCCESS;
}

// The parts are ignored: all descriptors are equal.
FAKE_EXPORT CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, Multiprocessors* parts,
                                               unsigned count) {
  static char any = 0;
  if (out == nullptr || parts == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUdevResourceDesc>(&any);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc resources, CUdevice device,
                                      unsigned flags) {
  constexpr unsigned kWithDefaultStream = 1;
  NEED_DRIVER(driver);
  if (out == nullptr || resources == nullptr || flags != kWithDefaultStream) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUcontext primary = nullptr;
  const CUresult retained = cuDevicePrimaryCtxRetain(&primary, device);
  if (retained != CUDA_SUCCESS) return retained;
  if (!driver->state->Take(primary->card, kChunk)) {
    cuDevicePrimaryCtxRelease_v2(device);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto green = std::make_unique<CUgreenCtx_st>();
  green->context = NewGreen(*driver, primary);
  Greens& greens = TheGreens();
  const std::lock_guard lock(greens.mutex);
  *out = green.get();
  greens.all[green.get()] = std::move(green);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  NEED_DRIVER(driver);
  CUcontext context = nullptr;
  {
    Greens& greens = TheGreens();
    const std::lock_guard lock(greens.mutex);
    const auto found = greens.all.find(green);
    if (found == greens.all.end()) return CUDA_ERROR_INVALID_CONTEXT;
    context = green->context;
    greens.all.erase(found);
  }
  DropGreen(context);
  driver->state->Give(context->card, kChunk);
  return cuDevicePrimaryCtxRelease_v2(context->device);
}

FAKE_EXPORT CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx green) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = ContextOf(green);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = context;
  return CUDA_SUCCESS;
}

// Needs no current context.
FAKE_EXPORT CUresult cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx green, unsigned flags,
                                            int priority) {
  constexpr unsigned kNonBlocking = 1;
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || flags != kNonBlocking) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext context = ContextOf(green);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = NewStream(context->owner, flags, priority, context);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* out) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return WhyNone(handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = OfStream(handle, stream);
  return CUDA_SUCCESS;
}
FAKE_STREAM_FUNCTION(cuStreamGetCtx_v2, _ptsz, (CUstream handle, CUcontext* out, CUgreenCtx* green),
                     (handle, out, green)) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return WhyNone(handle);
  if (out == nullptr || green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = stream->context;
  *green = OfStream(handle, stream);
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUcontext context = ContextOf(green);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (event == nullptr || event->context != context->owner) return CUDA_ERROR_INVALID_HANDLE;
  CUresult why_not{};
  if (!IsPlain(context, &why_not)) return why_not;
  Mark tail = context->legacy.tail;
  ForEachOfGreen(context, [&](CUstream_st& stream) { tail = std::max(tail, stream.tail.load()); });
  ++event->recordings;
  event->recorded = true;
  event->at = Now();
  event->mark = tail;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const CUcontext context = ContextOf(green);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUresult why_not{};
  if (!IsPlain(context, &why_not)) return why_not;
  const Mark mark = event->mark;
  if (mark == kNever) return CUDA_ERROR_NOT_SUPPORTED;
  const auto follow = [mark](CUstream_st& stream) {
    if (mark > stream.tail) stream.tail = mark;
  };
  follow(context->legacy);  // new streams of the green context start at its mark
  ForEachOfGreen(context, follow);
  return CUDA_SUCCESS;
}
