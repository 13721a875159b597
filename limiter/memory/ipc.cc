// SPDX-License-Identifier: Apache-2.0
// CUDA's IPC: linear memory that other processes open, counted for who made it as long as that one
// has it.
#include "limiter/memory/opened.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

template <typename Call>
CUresult Open(CUdeviceptr* answer, Call call) {
  return Answered(answer, [&](CUdeviceptr* out) {
    const Importing importing;
    const CUresult result = call(out);
    if (result != CUDA_SUCCESS || out == nullptr) return result;
    return CountOpened(*out, [out] { return TheDriver().cuIpcCloseMemHandle(*out); });
  });
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr pointer) {
  const Driver& driver = TheDriver();
  Table* const table = TheTable();
  CUdeviceptr begin = 0;
  Holding after;
  // A count of one says it: others may have it.
  if (table != nullptr &&
      driver.cuMemGetAddressRange_v2(&begin, nullptr, pointer) == CUDA_SUCCESS &&
      table->Count(Sort::kLinear, begin, 0, 1, 0, &after) && after.mappings == 1) {
    NoteExported(after.device, after.bytes);
  }
  return driver.cuIpcGetMemHandle(out, pointer);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* answer, CUipcMemHandle handle, unsigned flags) {
  return Open(answer,
              [&](CUdeviceptr* out) { return TheDriver().cuIpcOpenMemHandle(out, handle, flags); });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* answer, CUipcMemHandle handle, unsigned flags) {
  return Open(answer, [&](CUdeviceptr* out) {
    return TheDriver().cuIpcOpenMemHandle_v2(out, handle, flags);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return Close(pointer, [&] { return TheDriver().cuIpcCloseMemHandle(pointer); });
}
