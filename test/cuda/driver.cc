// SPDX-License-Identifier: Apache-2.0
// cuInit, the driver's version, and the names of errors.
#include "cuda/driver.h"

#include <pthread.h>

#include <cstdio>
#include <exception>
#include <mutex>

namespace tessera::fake_cuda {

std::atomic<Driver*> g_driver = nullptr;
thread_local constinit CUcontext t_context = nullptr;
thread_local constinit bool t_per_thread = false;

namespace {

std::mutex g_starting;
bool g_forked = false;  // a child of a process that had called cuInit

// As with the driver, a forked child can neither use its parent's driver nor call cuInit.
void ForgetInChild() {
  if (g_driver == nullptr) return;
  g_driver = nullptr;
  g_forked = true;
  t_context = nullptr;
}

CUresult Start() {
  auto driver = std::make_unique<Driver>();
  driver->node = ReadNode();
  Node& node = driver->node;
  if (node.devices.empty()) return CUDA_ERROR_NO_DEVICE;
  driver->state = State::Open(node.directory, node.options.late_ns);
  if (driver->state == nullptr) {
    fprintf(stderr, "fake CUDA: %s/fake-cuda.state: %m\n", node.directory.c_str());
    return CUDA_ERROR_UNKNOWN;
  }
  if (!driver->state->Join()) {
    fprintf(stderr, "fake CUDA: %u processes use the node already\n", kMostProcesses);
    return CUDA_ERROR_UNKNOWN;
  }
  for (Device& device : node.devices) {
    device.card = driver->state->CardOf(device.uuid, device.memory);
    if (device.card == kMostCards) return CUDA_ERROR_UNKNOWN;
    driver->state->card(device.card).turn_length = node.options.slice_ns;
  }
  pthread_atfork(nullptr, nullptr, &ForgetInChild);
  g_driver.store(driver.release(), std::memory_order_release);
  return CUDA_SUCCESS;
}

// A process that exits gives its memory back at once; a killed one's stays for `late-ms`.
__attribute__((destructor)) void End() {
  if (Driver* driver = TheDriver()) driver->state->Leave();
}

}  // namespace
}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (TheDriver() != nullptr) return CUDA_SUCCESS;
  const std::lock_guard lock(g_starting);
  if (g_forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (TheDriver() != nullptr) return CUDA_SUCCESS;
  try {
    return Start();
  } catch (const std::exception& error) {
    fprintf(stderr, "fake CUDA: %s\n", error.what());
    return CUDA_ERROR_NO_DEVICE;
  }
}

// Works before cuInit too.
FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const Driver* driver = TheDriver()) {
    *version = driver->node.version;
    return CUDA_SUCCESS;
  }
  try {
    *version = ReadNode().version;
    return CUDA_SUCCESS;
  } catch (const std::exception&) {
    *version = 0;
    return CUDA_ERROR_NO_DEVICE;
  }
}

namespace {

struct Word {
  int code;
  const char* name;
  const char* text;
};
constexpr Word kWords[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "context already in use"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult Tell(CUresult error, const char* Word::* part, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  for (const Word& word : kWords) {
    if (word.code == error) *text = word.*part;
  }
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

FAKE_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  return Tell(error, &Word::name, name);
}
FAKE_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  return Tell(error, &Word::text, text);
}
