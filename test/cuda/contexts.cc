// SPDX-License-Identifier: Apache-2.0
#include "cuda/contexts.h"

#include <ctime>
#include <deque>
#include <mutex>
#include <vector>

namespace tessera::fake_cuda {
namespace {

struct Contexts {
  std::mutex mutex;
  std::vector<CUcontext> primary;  // by device; null until first used
  std::deque<CUctx_st> all;        // destroyed ones too
};
Contexts& TheContexts() {
  static auto* const contexts = new Contexts();
  return *contexts;
}

// The thread's stack of contexts, without the current one.
thread_local std::vector<CUcontext> t_below;

bool IsContext(CUcontext context) {
  Contexts& contexts = TheContexts();
  const std::lock_guard lock(contexts.mutex);
  for (const CUctx_st& one : contexts.all) {
    if (&one == context) return true;
  }
  return false;
}

void Sleep(uint64_t ns) {
  timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

// With the mutex held.
CUresult Activate(Driver& driver, CUctx_st& context) {
  const Options& options = driver.node.options;
  if (!driver.state->Take(context.card, options.context_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (options.context_ns > 0) Sleep(options.context_ns);
  context.active = true;
  ++driver.state->own().contexts[context.card];
  return CUDA_SUCCESS;
}

// Waits for the context's work first. With the mutex held.
void Deactivate(Driver& driver, CUctx_st& context) {
  if (context.active) AwaitContext(&context);
  if (!context.active.exchange(false)) return;
  --driver.state->own().contexts[context.card];
  DropStreamsOf(&context);
  DropArraysOf(&context);
  DropExternalOf(&context);
  DropPoolsOf(&context);
  DropGraphMemoryOf(&context);
  DropImportsOf(&context);
  DropMemoryOf(&context);
  driver.state->Give(context.card, driver.node.options.context_bytes + context.heaps.exchange(0));
  for (auto& limit : context.limits) limit = 0;
}

// Makes the heaps as large as their limits. The card is charged for the part beyond the default
// size. False: it has no room.
bool Resize(CUctx_st& context) {
  constexpr uint64_t kEveryContexts = uint64_t{8} << 20;
  uint64_t wanted = 0;
  for (const CUlimit limit : {CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE}) {
    const uint64_t bytes = context.limits[limit];
    if (bytes > kEveryContexts) wanted += RoundUp(bytes - kEveryContexts, kChunk);
  }
  State& state = *TheDriver()->state;
  const uint64_t now = context.heaps;
  if (wanted > now && !state.Take(context.card, wanted - now)) return false;
  if (wanted < now) state.Give(context.card, now - wanted);
  context.heaps = wanted;
  return true;
}

bool IsDevice(const Driver& driver, int device) {
  return device >= 0 && static_cast<size_t>(device) < driver.node.devices.size();
}

CUresult Create(CUcontext* out, unsigned flags, CUdevice device) {
  NEED_DRIVER(driver);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  Contexts& contexts = TheContexts();
  const std::lock_guard lock(contexts.mutex);
  CUctx_st& context = contexts.all.emplace_back(*driver, device, false);
  const CUresult result = Activate(*driver, context);
  if (result != CUDA_SUCCESS) return result;
  context.flags = flags;
  context.references = 1;
  if (t_context != nullptr) t_below.push_back(t_context);
  t_context = *out = &context;
  return CUDA_SUCCESS;
}

void Pop() {
  t_context = t_below.empty() ? nullptr : t_below.back();
  if (!t_below.empty()) t_below.pop_back();
}

CUresult Destroy(CUcontext context) {
  NEED_DRIVER(driver);
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsContext(context) || context->primary || context->owner != context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->active) return kContextIsDestroyed;
  {
    const std::lock_guard lock(TheContexts().mutex);
    Deactivate(*driver, *context);
  }
  if (t_context == context) Pop();
  return CUDA_SUCCESS;
}

CUresult Release(CUdevice device) {
  NEED_DRIVER(driver);
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = PrimaryOf(device);
  const std::lock_guard lock(TheContexts().mutex);
  if (context->references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context->references == 0) Deactivate(*driver, *context);
  return CUDA_SUCCESS;
}

CUresult Reset(CUdevice device) {
  NEED_DRIVER(driver);
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = PrimaryOf(device);
  const std::lock_guard lock(TheContexts().mutex);
  Deactivate(*driver, *context);
  return CUDA_SUCCESS;
}

CUresult SetFlags(CUdevice device, unsigned flags) {
  NEED_DRIVER(driver);
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryOf(device)->flags = flags;
  return CUDA_SUCCESS;
}

template <class T>
CUresult GiveOf(T* out, const T& value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUcontext NewGreen(Driver& driver, CUcontext primary) {
  Contexts& contexts = TheContexts();
  const std::lock_guard lock(contexts.mutex);
  CUctx_st& green = contexts.all.emplace_back(driver, primary);
  green.active = true;
  return &green;
}

void DropGreen(CUcontext green) {
  const std::lock_guard lock(TheContexts().mutex);
  DetachStreamsOf(green);
  green->active = false;
}

CUcontext PrimaryOf(int device) {
  Contexts& contexts = TheContexts();
  const std::lock_guard lock(contexts.mutex);
  Driver& driver = *TheDriver();
  contexts.primary.resize(driver.node.devices.size());
  CUcontext& primary = contexts.primary[static_cast<size_t>(device)];
  if (primary == nullptr) primary = &contexts.all.emplace_back(driver, device, true);
  return primary;
}

CUresult Missing() {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return t_context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : kContextIsDestroyed;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

CUctx_st::CUctx_st(Driver& driver, int of_device, bool is_primary)
    : device(of_device),
      card(driver.node.devices[static_cast<size_t>(of_device)].card),
      primary(is_primary),
      owner(this),
      heap(this, *driver.state, card, static_cast<uint8_t>(of_device)),
      legacy(this, 0, 0) {}
CUctx_st::CUctx_st(Driver& driver, CUctx_st* primary_context)
    : device(primary_context->device),
      card(primary_context->card),
      primary(false),
      owner(primary_context),
      heap(this, *driver.state, card, static_cast<uint8_t>(device)),
      legacy(this, 0, 0) {}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  NEED_DRIVER(driver);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = PrimaryOf(device);
  const std::lock_guard lock(TheContexts().mutex);
  if (!context->active) {
    const CUresult result = Activate(*driver, *context);
    if (result != CUDA_SUCCESS) return result;
  }
  ++context->references;
  *out = context;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return Release(device);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return Release(device);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return Reset(device);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return Reset(device);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return SetFlags(device, flags);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return SetFlags(device, flags);
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  NEED_DRIVER(driver);
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(*driver, device)) return CUDA_ERROR_INVALID_DEVICE;
  const CUcontext context = PrimaryOf(device);
  *flags = context->flags;
  *active = context->active ? 1 : 0;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuCtxCreate(CUcontext* out, unsigned flags, CUdevice device) {
  return Create(out, flags, device);
}
FAKE_EXPORT CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return Create(out, flags, device);
}
FAKE_EXPORT CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* /*affinity*/,
                                    int /*count*/, unsigned flags, CUdevice device) {
  return Create(out, flags, device);
}
FAKE_EXPORT CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* /*params*/, unsigned flags,
                                    CUdevice device) {
  return Create(out, flags, device);
}
FAKE_EXPORT CUresult cuCtxDestroy(CUcontext context) {
  return Destroy(context);
}
FAKE_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  return Destroy(context);
}

FAKE_EXPORT CUresult cuCtxAttach(CUcontext* out, unsigned /*flags*/) {
  NEED_CONTEXT(context);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++context->references;
  *out = context;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxDetach(CUcontext context) {
  if (!IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return --context->references > 0 ? CUDA_SUCCESS : Destroy(context);
}

FAKE_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (t_context != nullptr) t_below.push_back(t_context);
  t_context = context;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxPushCurrent_v2(context);
}
FAKE_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (t_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = t_context;
  Pop();
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxPopCurrent(CUcontext* out) {
  return cuCtxPopCurrent_v2(out);
}
FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (context == nullptr) {
    Pop();
    return CUDA_SUCCESS;
  }
  if (context != t_context && !IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  t_context = context;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext* out) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return GiveOf(out, t_context);
}
FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice* out) {
  NEED_CONTEXT(context);
  return GiveOf(out, context->device);
}
FAKE_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext context) {
  if (context == nullptr) return cuCtxGetDevice(out);
  if (!IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return GiveOf(out, context->device);
}
FAKE_EXPORT CUresult cuCtxGetFlags(unsigned* out) {
  NEED_CONTEXT(context);
  return GiveOf(out, context->flags.load());
}
FAKE_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned* out) {
  if (context != nullptr && !IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return GiveOf(out, 3020U);
}
FAKE_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long* out) {
  if (context == nullptr) context = t_context;
  if (!IsContext(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return GiveOf(out, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(context)));
}
FAKE_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  NEED_CONTEXT(context);
  if (static_cast<unsigned>(limit) >= std::size(context->limits)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t before = context->limits[static_cast<unsigned>(limit)].exchange(value);
  if (Resize(*context)) return CUDA_SUCCESS;
  context->limits[static_cast<unsigned>(limit)] = before;
  return CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE_EXPORT CUresult cuCtxGetLimit(size_t* out, CUlimit limit) {
  NEED_CONTEXT(context);
  if (static_cast<unsigned>(limit) >= std::size(context->limits)) return CUDA_ERROR_INVALID_VALUE;
  return GiveOf(out, size_t{context->limits[static_cast<unsigned>(limit)]});
}
FAKE_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (Current() == nullptr) return Missing();
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}
