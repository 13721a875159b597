// SPDX-License-Identifier: Apache-2.0
// The entry for programs that ask the driver itself for its functions, as the CUDA runtime does.
//
// The driver is called first, with the program's arguments. It decides the meaning of a symbol for
// a version and for the caller's default stream. Only the address that it returns is replaced.
#include "limiter/driver/driver.h"

namespace tessera::limiter {
namespace {

// A driver may return a function that it exports under no name. Then symbol, version and flags
// identify it, as far as functions.def has it. A version beyond the newest known one may have a
// newer variant of the symbol. So the driver is asked again for the newest known version; if its
// answer differs, the function is passed on.
template <typename Ask>
Function FunctionBehind(void* address, const char* symbol, int version, cuuint64_t flags, Ask ask) {
  const Function exported = FunctionAt(address);
  if (exported != Function::kNone) return exported;
  if (version > kNewestCuda) {
    void* known = nullptr;
    if (ask(&known, kNewestCuda) != CUDA_SUCCESS || known != address) return Function::kNone;
  }
  const bool per_thread_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  return FunctionOfVersion(symbol, version, per_thread_stream);
}

template <typename Ask>
void Exchange(void** address, const char* symbol, int version, cuuint64_t flags, Ask ask) {
  if (address == nullptr || *address == nullptr || symbol == nullptr) return;
  const Function function = FunctionBehind(*address, symbol, version, flags, ask);
  void* hook = function != Function::kNone ? HookOf(function) : nullptr;
  if (hook != nullptr) *address = hook;
}

}  // namespace
}  // namespace tessera::limiter

using tessera::limiter::TheDriver;

CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t flags) {
  const auto ask = [&](void** where, int as_of) {
    return TheDriver().cuGetProcAddress(symbol, where, as_of, flags);
  };
  const CUresult result = ask(address, version);
  if (result == CUDA_SUCCESS) {
    tessera::limiter::Exchange(address, symbol, version, flags, ask);
  }
  return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const auto ask = [&](void** where, int as_of) {
    CUdriverProcAddressQueryResult ignored;
    return TheDriver().cuGetProcAddress_v2(symbol, where, as_of, flags, &ignored);
  };
  const CUresult result = TheDriver().cuGetProcAddress_v2(symbol, address, version, flags, status);
  if (result == CUDA_SUCCESS) {
    tessera::limiter::Exchange(address, symbol, version, flags, ask);
  }
  return result;
}
