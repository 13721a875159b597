// SPDX-License-Identifier: Apache-2.0
// The checks with which each function of the fake driver begins. Is the driver initialized? Which
// context is current on this thread? Does a capture forbid the call? Any thread.
#pragma once

#include <atomic>
#include <memory>

#include "cuda/node.h"
#include "cuda/state.h"
#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

// CUDA's errors that limiter/driver/cuda.h does not declare.
inline constexpr CUresult kContextAlreadyInUse{216};
inline constexpr CUresult kInvalidImage{200};
inline constexpr CUresult kAlreadyMapped{208};
inline constexpr CUresult kArrayIsMapped{207};
inline constexpr CUresult kContextIsDestroyed{709};
inline constexpr CUresult kHostMemoryAlreadyRegistered{712};
inline constexpr CUresult kHostMemoryNotRegistered{713};
inline constexpr CUresult kCaptureInvalidated{901};
inline constexpr CUresult kCaptureUnmatched{903};
inline constexpr CUresult kCaptureUnjoined{904};
inline constexpr CUresult kCaptureIsolation{905};
inline constexpr CUresult kCaptureImplicit{906};
inline constexpr CUresult kCaptureWrongThread{908};
inline constexpr CUresult kIllegalState{401};

struct Driver {
  Node node;
  std::unique_ptr<State> state;
};

// Null before cuInit, and in a forked child of a process that called it. Never destroyed: threads
// may be in a call when the process ends.
extern std::atomic<Driver*> g_driver;

inline Driver* TheDriver() {
  return g_driver.load(std::memory_order_acquire);
}

// The context that is current on this thread, or null; then Missing() gives the error.
extern thread_local constinit CUcontext t_context __attribute__((tls_model("initial-exec")));
CUresult Missing();
CUcontext Current();

// An unsafe call during a capture is refused, and invalidates the capture, as with the driver.
extern std::atomic<int> g_captures;  // the number of captures under way in this process
CUresult RefuseUnsafe();
inline CUresult CheckUnsafe() {
  return g_captures == 0 ? CUDA_SUCCESS : RefuseUnsafe();
}

// True while a function with _ptsz or _ptds runs: then the default stream is the thread's own.
extern thread_local constinit bool t_per_thread __attribute__((tls_model("initial-exec")));
struct PerThread {
  PerThread() { t_per_thread = true; }
  ~PerThread() { t_per_thread = false; }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
};

}  // namespace tessera::fake_cuda

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

// The first lines of a function that needs the driver, or a context.
// NOLINTBEGIN(bugprone-macro-parentheses): these are names
#define NEED_DRIVER(driver)           \
  Driver* const driver = TheDriver(); \
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED
#define NEED_CONTEXT(context)          \
  const CUcontext context = Current(); \
  if (context == nullptr) return Missing()
// NOLINTEND(bugprone-macro-parentheses)
#define NEED_NO_CAPTURE()                                                                \
  do {                                                                                   \
    if (const CUresult refused = CheckUnsafe(); refused != CUDA_SUCCESS) return refused; \
  } while (false)

// Defines a function on streams twice: as it is, and with a suffix for per-thread default streams.
#define FAKE_STREAM_FUNCTION(name, suffix, parameters, arguments) \
  static CUresult Fake_##name parameters;                         \
  FAKE_EXPORT CUresult name parameters {                          \
    return Fake_##name arguments;                                 \
  }                                                               \
  FAKE_EXPORT CUresult name##suffix parameters {                  \
    const tessera::fake_cuda::PerThread per_thread;               \
    return Fake_##name arguments;                                 \
  }                                                               \
  static CUresult Fake_##name parameters
