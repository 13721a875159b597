// SPDX-License-Identifier: Apache-2.0
// CUDA's IPC: linear memory that other processes open. It is counted for its maker as long as the
// maker holds it.
#include "limiter/memory/opened.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

template <typename Call>
CUresult Open(CUdeviceptr* answer, Call call) {
  return Answered(answer, [&](CUdeviceptr* out) {
    const ImportScope importing;
    const CUresult result = call(out);
    if (result != CUDA_SUCCESS || out == nullptr) return result;
    return CountOpened(*out, kChunk, [out] { return TheDriver().cuIpcCloseMemHandle(*out); });
  });
}

// Noted before the driver's call: from then on other processes may hold it.
void Export(CUdeviceptr pointer) {
  Table* const table = TheTable();
  CUdeviceptr begin = 0;
  if (table == nullptr ||
      TheDriver().cuMemGetAddressRange_v2(&begin, nullptr, pointer) != CUDA_SUCCESS) {
    return;
  }
  // A count of one marks it as exported.
  Holding after;
  int place = -1;
  if (table->Count(Sort::kLinear, begin, 0, 1, 0, &after)) {
    if (after.mappings == 1) NoteExported(after.device, after.bytes);
  } else if (KeepChunk(begin, &place)) {
    NoteExported(place, kChunk);
  }
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr pointer) {
  Export(pointer);
  return TheDriver().cuIpcGetMemHandle(out, pointer);
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
