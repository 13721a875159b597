// SPDX-License-Identifier: Apache-2.0
// Captures: a stream's work becomes a graph. Until the end, calls that could break it are refused.
#include <algorithm>
#include <mutex>

#include "cuda/graphs.h"

namespace tessera::fake_cuda {

std::atomic<int> g_captures = 0;

namespace {

thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct Captures {
  std::mutex mutex;  // guards the members below
  std::deque<Capture> all;
};
Captures& TheCaptures() {
  static auto* const captures = new Captures();
  return *captures;
}

// True if this capture forbids unsafe calls on this thread. Follows the modes of
// cuThreadExchangeStreamCaptureMode.
bool Bars(const Capture& capture) {
  if (capture.ended || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult Begin(CUstream handle, CUstreamCaptureMode mode) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream == &context->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return kIllegalState;
  Captures& captures = TheCaptures();
  const std::lock_guard lock(captures.mutex);
  Capture& capture = captures.all.emplace_back();
  capture.graph = NewGraph();
  capture.mode = mode;
  capture.thread = std::this_thread::get_id();
  capture.origin = stream;
  capture.id = captures.all.size();
  capture.streams = {stream};
  stream->capture = &capture;
  ++g_captures;
  return CUDA_SUCCESS;
}

CUresult End(CUstream handle, CUgraph* out) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  Captures& captures = TheCaptures();
  const std::lock_guard lock(captures.mutex);
  Capture* capture = stream->capture;
  if (capture == nullptr) return kIllegalState;
  if (capture->origin != stream) return kCaptureUnmatched;
  const bool own = capture->thread == std::this_thread::get_id();
  if (!own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) return kCaptureWrongThread;
  capture->ended = true;
  for (const CUstream one : capture->streams) one->capture = nullptr;
  --g_captures;
  if (capture->broken) return kCaptureInvalidated;
  *out = capture->graph;
  return CUDA_SUCCESS;
}

CUresult Status(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph) {
  NEED_CONTEXT(context);
  const CUstream stream = StreamOf(handle, context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Capture* capture = stream->capture;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (capture == nullptr) return CUDA_SUCCESS;
  *status =
      capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  return CUDA_SUCCESS;
}

CUgraphNode Add(Capture& capture, CUgraphNodeType type) {
  CUgraphNode_st& node = capture.graph->nodes.emplace_back();
  node.type = type;
  node.graph = capture.graph;
  return &node;
}

}  // namespace

CUresult RefuseUnsafe() {
  Captures& captures = TheCaptures();
  const std::lock_guard lock(captures.mutex);
  CUresult result = CUDA_SUCCESS;
  for (Capture& capture : captures.all) {
    if (!Bars(capture)) continue;
    capture.broken = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult RefuseLegacy(CUcontext context) {
  constexpr unsigned kNonBlocking = 1;
  Captures& captures = TheCaptures();
  const std::lock_guard lock(captures.mutex);
  CUresult result = CUDA_SUCCESS;
  for (Capture& capture : captures.all) {
    if (capture.ended) continue;
    const bool waited_for = std::ranges::any_of(capture.streams, [&](CUstream stream) {
      return stream->context == context && (stream->flags & kNonBlocking) == 0;
    });
    if (!waited_for) continue;
    capture.broken = true;
    result = kCaptureImplicit;
  }
  return result;
}

CUresult JoinCapture(Capture& capture, CUstream stream) {
  const std::lock_guard lock(TheCaptures().mutex);
  if (capture.broken) return kCaptureInvalidated;
  const Capture* now = stream->capture;
  if (now == &capture) return CUDA_SUCCESS;
  if (now != nullptr) return kCaptureIsolation;
  capture.streams.push_back(stream);
  stream->capture = &capture;
  return CUDA_SUCCESS;
}

CUresult CaptureLaunch(Capture& capture, const Launch& launch) {
  const std::lock_guard lock(TheCaptures().mutex);
  if (capture.broken) return kCaptureInvalidated;
  Add(capture, CU_GRAPH_NODE_TYPE_KERNEL)->launch = launch;
  return CUDA_SUCCESS;
}
CUresult CaptureAllocation(Capture& capture, CUdeviceptr* out, uint64_t bytes) {
  const std::lock_guard lock(TheCaptures().mutex);
  if (capture.broken) return kCaptureInvalidated;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, capture.origin->context->device};
  parameters.bytesize = bytes;
  *out = AddAllocation(capture.graph, capture.origin->context, parameters)->allocation.dptr;
  return CUDA_SUCCESS;
}
CUresult CaptureFree(Capture& capture, CUdeviceptr address) {
  const std::lock_guard lock(TheCaptures().mutex);
  if (capture.broken) return kCaptureInvalidated;
  Add(capture, CU_GRAPH_NODE_TYPE_MEM_FREE)->freed = address;
  return CUDA_SUCCESS;
}
CUresult CaptureChild(Capture& capture, CUgraph child) {
  const std::lock_guard lock(TheCaptures().mutex);
  if (capture.broken) return kCaptureInvalidated;
  Add(capture, CU_GRAPH_NODE_TYPE_GRAPH)->child = child;
  return CUDA_SUCCESS;
}

}  // namespace tessera::fake_cuda

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_STREAM_FUNCTION(cuStreamBeginCapture, _ptsz, (CUstream stream), (stream)) {
  return Begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
FAKE_STREAM_FUNCTION(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                     (stream, mode)) {
  return Begin(stream, mode);
}
FAKE_STREAM_FUNCTION(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* out), (stream, out)) {
  return End(stream, out);
}
FAKE_STREAM_FUNCTION(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status),
                     (stream, status)) {
  return Status(stream, status, nullptr, nullptr);
}
FAKE_STREAM_FUNCTION(cuStreamGetCaptureInfo, _ptsz,
                     (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id),
                     (stream, status, id)) {
  return Status(stream, status, id, nullptr);
}
FAKE_STREAM_FUNCTION(cuStreamGetCaptureInfo_v2, _ptsz,
                     (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                      CUgraph* graph, const CUgraphNode** last, size_t* count),
                     (stream, status, id, graph, last, count)) {
  if (last != nullptr) *last = nullptr;
  if (count != nullptr) *count = 0;
  return Status(stream, status, id, graph);
}
FAKE_STREAM_FUNCTION(cuStreamGetCaptureInfo_v3, _ptsz,
                     (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                      CUgraph* graph, const CUgraphNode** last, const CUgraphEdgeData** edges,
                      size_t* count),
                     (stream, status, id, graph, last, edges, count)) {
  if (last != nullptr) *last = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return Status(stream, status, id, graph);
}

FAKE_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (TheDriver() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
}
