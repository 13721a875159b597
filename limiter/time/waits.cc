// SPDX-License-Identifier: Apache-2.0
// Hooks of the calls by which programs learn that launches are done.
#include "limiter/driver/driver.h"
#include "limiter/memory/contexts.h"
#include "limiter/time/meter.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// The streams that a wait for the current context covers. A green context covers only its own.
StreamId AllOf(CUcontext current) {
  return OwnerOf(current) == current ? kAllStreams : 0;
}

}  // namespace

CUresult cuCtxSynchronize() {
  CUcontext current = nullptr;
  if (has_green_contexts.load(std::memory_order_acquire)) TheDriver().cuCtxGetCurrent(&current);
  Wait wait(AllOf(current));
  return wait.Done(TheDriver().cuCtxSynchronize());
}
// The context need not be the current one.
CUresult cuCtxSynchronize_v2(CUcontext context) {
  CUcontext current = nullptr;
  TheDriver().cuCtxGetCurrent(&current);
  const bool is_current = context == nullptr || context == current;
  const PushedContext pushed(is_current ? nullptr : context);
  Wait wait(AllOf(is_current ? current : context));
  return wait.Done(TheDriver().cuCtxSynchronize_v2(context));
}

CUresult cuStreamSynchronize(CUstream stream) {
  Wait wait(Stream{stream, false});
  return wait.Done(TheDriver().cuStreamSynchronize(stream));
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  Wait wait(Stream{stream, true});
  return wait.Done(TheDriver().cuStreamSynchronize_ptsz(stream));
}
CUresult cuStreamQuery(CUstream stream) {
  Wait wait(Stream{stream, false});
  return wait.Done(TheDriver().cuStreamQuery(stream));
}
CUresult cuStreamQuery_ptsz(CUstream stream) {
  Wait wait(Stream{stream, true});
  return wait.Done(TheDriver().cuStreamQuery_ptsz(stream));
}

// An event's stream is not known.
CUresult cuEventSynchronize(CUevent event) {
  Wait wait(0);
  return wait.Done(TheDriver().cuEventSynchronize(event));
}
CUresult cuEventQuery(CUevent event) {
  Wait wait(0);
  return wait.Done(TheDriver().cuEventQuery(event));
}

// These wait for the default stream.
CUresult cuMemcpyDtoH(void* to, unsigned from, unsigned size) {
  Wait wait(Stream{});
  return wait.Done(TheDriver().cuMemcpyDtoH(to, from, size));
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  Wait wait(Stream{});
  return wait.Done(TheDriver().cuMemcpyDtoH_v2(to, from, size));
}
CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t size) {
  Wait wait(Stream{nullptr, true});
  return wait.Done(TheDriver().cuMemcpyDtoH_v2_ptds(to, from, size));
}
