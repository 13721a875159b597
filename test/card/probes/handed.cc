// SPDX-License-Identifier: Apache-2.0
// Memory that one process makes and another one of the same container opens.
#include <unistd.h>

#include <cstring>
#include <optional>

#include "card/probes/helpers.h"
#include "card/probes/peer.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

std::optional<Peer> peer;
CUdeviceptr block = 0;
CUmemoryPool pool = nullptr;
CUmemGenericAllocationHandle handle = 0;
Message message;

void Part() {
  peer.reset();
  if (block != 0) CU(cuMemFree_v2)(block);
  if (pool != nullptr) CU(cuMemPoolDestroy)(pool);
  if (handle != 0) CU(cuMemRelease)(handle);
  block = 0;
  pool = nullptr;
  handle = 0;
}

template <typename Data>
CUresult Hand(Order order, const Data& data, int file = -1) {
  message.order = order;
  std::memcpy(message.data, &data, sizeof data);
  return peer->Do(message, &file);
}

// The peer is there before the first measurement is taken.
CUresult Start() {
  peer.emplace();
  message = {.order = Order::kAllocate, .bytes = kMiB};
  return peer->Do(message);
}

CUresult OpenBy(uint64_t bytes, Order order) {
  CUipcMemHandle ipc{};
  FirstFailure opened;
  opened << CU(cuMemAlloc_v2)(&block, bytes);
  if (opened.result == CUDA_SUCCESS) opened << CU(cuIpcGetMemHandle)(&ipc, block);
  if (opened.result == CUDA_SUCCESS) opened << Start();
  if (opened.result == CUDA_SUCCESS) opened << Hand(order, ipc);
  return opened.result;
}

void CloseAndPart() {
  if (peer) {
    message.order = Order::kCloseIpc;
    Say("closed " + std::to_string(peer->Do(message)));
  }
  Part();
}

CUresult MapThere(uint64_t bytes) {
  FirstFailure mapped;
  mapped << NewShareable(&handle, bytes);
  if (mapped.result != CUDA_SUCCESS) return mapped.result;
  const int file = Export(handle);
  mapped << Start();
  message.bytes = bytes;
  mapped << Hand(Order::kMap, 0, file);
  if (file >= 0) close(file);
  return mapped.result;
}

CUresult SharePiece(uint64_t bytes) {
  const CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  int file = -1;
  CUmemPoolPtrExportData data{};
  FirstFailure shared;
  shared << CU(cuMemPoolCreate)(&pool, &wanted);
  if (shared.result != CUDA_SUCCESS) return shared.result;
  shared << CU_AS(cuMemPoolExportToShareableHandle, void*, CUmemoryPool, CUmemAllocationHandleType,
                  unsigned long long)(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)
         << CU(cuMemAllocFromPoolAsync)(&block, bytes, pool, nullptr);
  Synchronize();
  shared << CU(cuMemPoolExportPointer)(&data, block) << Start();
  if (shared.result == CUDA_SUCCESS) shared << Hand(Order::kImportPool, 0, file);
  if (shared.result == CUDA_SUCCESS) shared << Hand(Order::kImportPiece, data);
  if (file >= 0) close(file);
  return shared.result;
}

constexpr Step kSteps[] = {
    {"", [](uint64_t) { return Start(); }, Part, "another process with a context"},
    {"cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle",
     [](uint64_t bytes) { return OpenBy(bytes, Order::kOpenIpc); }, CloseAndPart,
     "opened by another process"},
    {"cuIpcOpenMemHandle", [](uint64_t bytes) { return OpenBy(bytes, Order::kOpenIpcOld); },
     CloseAndPart, "opened by another process"},
    {"cuMemImportFromShareableHandle", MapThere, Part, "mapped by another process"},
    {"cuMemPoolExportPointer cuMemPoolImportPointer", SharePiece, Part,
     "a piece of a pool, opened by another process"},
};

}  // namespace

std::span<const Step> HandedSteps() {
  return kSteps;
}

}  // namespace tessera::card
