// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/graphs.h"

#include <atomic>

#include "limiter/accounting/process_memory.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/graph_nodes.h"
#include "limiter/memory/graph_places.h"
#include "limiter/memory/growth.h"
#include "limiter/time/stream.h"

namespace tessera::limiter {
namespace {

constexpr int kMostDevices = 40;

// By device.
struct GraphCharges {
  std::atomic<uint64_t> charged[kMostDevices];
  // The number of trims, and of graphs that leave memory allocated. After each, kept memory may be
  // less or another graph's.
  std::atomic<uint64_t> trims[kMostDevices];
};

GraphCharges* TheGraphCharges() {
  static constinit ProcessMemory<GraphCharges> kept;
  return kept.Get();
}

// The number of recorded (graph, device) pairs. At 0 a launch has no extra cost.
constinit std::atomic<int64_t> remembered{0};

Sort SortOn(int device) {
  return static_cast<Sort>(static_cast<uint8_t>(Sort::kGraphOn) + device);
}

template <typename Visit>
void ForEach(uint64_t devices, Visit visit) {
  for (; devices != 0; devices &= devices - 1) visit(__builtin_ctzll(devices));
}

void MistrustMarks(CUdevice device) {
  GraphCharges* const kept = TheGraphCharges();
  if (kept != nullptr) kept->trims[device].fetch_add(1, std::memory_order_relaxed);
}

bool Settle(CUdevice device, int place, uint64_t credit) {
  GraphCharges* const kept = TheGraphCharges();
  if (kept == nullptr) {
    Release(place, credit, Kind::kData);
    return false;
  }
  const Relaxed relaxed;
  std::atomic<uint64_t>* const charged = &kept->charged[device];
  const uint64_t before = charged->load(std::memory_order_relaxed);
  const bool within = SettleGrowth(charged, place, credit, [device] {
    uint64_t bytes = 0;
    constexpr auto kReserved = CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
    const Driver& driver = TheDriver();
    return driver.cuDeviceGetGraphMemAttribute(device, kReserved, &bytes) == CUDA_SUCCESS ? bytes
                                                                                          : 0;
  });
  if (charged->load(std::memory_order_relaxed) < before) MistrustMarks(device);
  return within;
}

// The mark of a graph that ran in this stream and still has its memory. It needs no more until a
// trim, or until a graph leaves memory allocated. Never 0.
uint64_t MarkOf(uint64_t stream, CUdevice device) {
  const GraphCharges* const kept = TheGraphCharges();
  const uint64_t trims = kept == nullptr ? 0 : kept->trims[device].load(std::memory_order_relaxed);
  return ((stream ^ trims << 48) << 1) | 1;
}

// False: no room for what was uploaded with it, or no memory to record it.
bool RememberGraph(CUgraphExec exec, CUgraph graph) {
  GraphAllocations allocations(kMostDevices);
  Table* const table = TheTable();
  if (!allocations.Add(graph)) return false;
  allocations.Sort();
  const auto key = reinterpret_cast<uint64_t>(exec);
  uint64_t devices = 0;
  for (int device = 0; device < kMostDevices; ++device) {
    const uint64_t bytes = allocations.BytesOn(device);
    const int place = bytes == 0 ? -1 : PlaceOfDevice(device);
    if (place < 0) continue;
    const Holding holding{
        .bytes = bytes, .device = place, .references = allocations.LeavesOn(device) ? 1U : 0U};
    if (table == nullptr || !table->Add(SortOn(device), key, holding)) return false;
    remembered.fetch_add(1, std::memory_order_relaxed);
    devices |= uint64_t{1} << device;
    if (!Settle(device, place, 0)) return false;
  }
  return devices == 0 || table->Add(Sort::kGraph, key, {.other = devices});
}

// call(out) instantiates the graph.
template <typename Call>
CUresult Remembered(CUgraphExec* answer, CUgraph graph, Call call) {
  return Answered(answer, [&](CUgraphExec* exec) {
    const CUresult result = call(exec);
    if (result != CUDA_SUCCESS) return result;
    if (RememberGraph(*exec, graph) && RememberPlaces(*exec, graph)) return result;
    ForgetGraphMemory(*exec);
    TheDriver().cuGraphExecDestroy(*exec);
    for (int place = 0; place < kMaxDevices; ++place) TrimGraphs(place);
    return CUDA_ERROR_OUT_OF_MEMORY;
  });
}

}  // namespace

GraphMemory::GraphMemory(CUgraphExec graph, CUstream stream, bool per_thread)
    : graph_(graph), stream_(reinterpret_cast<uint64_t>(stream) ^ (per_thread ? 1 : 0)) {
  if (remembered.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  Holding found;
  Table* const table = TheTable();
  const auto key = reinterpret_cast<uint64_t>(graph);
  if (table == nullptr || !table->Find(Sort::kGraph, key, &found)) return;
  devices_ = found.other;
  // A graph that is launched into a captured stream becomes part of another graph. Room is reserved
  // all the same, since the capture may end in between.
  is_captured_ = IsCaptured({stream, per_thread});
  ForEach(devices_, [&](int device) {
    Holding wanted;
    if (is_denied_ || !table->Find(SortOn(device), key, &wanted)) return;
    if (wanted.other == MarkOf(stream_, device) && !is_captured_) return;
    is_denied_ = !ReserveOrTrim(wanted.device, wanted.bytes);
    if (!is_denied_) reserved_ |= uint64_t{1} << device;
  });
  if (is_denied_) Done(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult GraphMemory::Done(CUresult result) {
  if (devices_ == 0) [[likely]]
    return result;
  Table* const table = TheTable();
  const auto key = reinterpret_cast<uint64_t>(graph_);
  ForEach(devices_, [&](int device) {
    Holding wanted;
    if (table == nullptr || !table->Find(SortOn(device), key, &wanted)) return;
    const bool is_reserved = (reserved_ >> device & 1) != 0;
    Settle(device, wanted.device, is_reserved ? wanted.bytes : 0);
    if (result != CUDA_SUCCESS || is_captured_) return;
    const bool leaves_some = wanted.references != 0;
    if (leaves_some) MistrustMarks(device);
    table->Mark(SortOn(device), key, MarkOf(stream_, device));
  });
  devices_ = 0;
  return result;
}

void ForgetGraphMemory(CUgraphExec graph) {
  Table* const table = TheTable();
  if (remembered.load(std::memory_order_relaxed) == 0 || table == nullptr) return;
  const auto key = reinterpret_cast<uint64_t>(graph);
  Holding holding;
  table->Take(Sort::kGraph, key, &holding);
  for (int device = 0; device < kMostDevices; ++device) {
    const bool was_there = table->Take(SortOn(device), key, &holding);
    if (was_there) remembered.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool TrimGraphs(int place) {
  GraphCharges* const kept = TheGraphCharges();
  if (kept == nullptr) return false;
  bool more = false;
  for (int device = 0; device < kMostDevices; ++device) {
    const uint64_t before = kept->charged[device].load(std::memory_order_relaxed);
    if (before == 0 || PlaceOfDevice(device) != place) continue;
    TheDriver().cuDeviceGraphMemTrim(device);
    Settle(device, place, 0);
    more = more || kept->charged[device].load(std::memory_order_relaxed) < before;
  }
  return more;
}

void SettleGraphs(CUdevice device) {
  const GraphCharges* const kept = TheGraphCharges();
  if (kept == nullptr || device < 0 || device >= kMostDevices) return;
  const int place = PlaceOfDevice(device);
  if (place >= 0 && kept->charged[device].load(std::memory_order_relaxed) != 0) {
    Settle(device, place, 0);
  }
}

}  // namespace tessera::limiter

using namespace tessera::limiter;  // NOLINT: hooks are C's

CUresult cuGraphInstantiate(CUgraphExec* answer, CUgraph graph, CUgraphNode* failed, char* log,
                            size_t bytes) {
  return Remembered(answer, graph, [&](CUgraphExec* out) {
    return TheDriver().cuGraphInstantiate(out, graph, failed, log, bytes);
  });
}
CUresult cuGraphInstantiate_v2(CUgraphExec* answer, CUgraph graph, CUgraphNode* failed, char* log,
                               size_t bytes) {
  return Remembered(answer, graph, [&](CUgraphExec* out) {
    return TheDriver().cuGraphInstantiate_v2(out, graph, failed, log, bytes);
  });
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* answer, CUgraph graph, unsigned long long flags) {
  return Remembered(answer, graph, [&](CUgraphExec* out) {
    return TheDriver().cuGraphInstantiateWithFlags(out, graph, flags);
  });
}

// These may upload the graph at once.
#define INSTANTIATE_AND_UPLOAD(suffix)                                                       \
  CUresult cuGraphInstantiateWithParams##suffix(CUgraphExec* answer, CUgraph graph,          \
                                                CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) { \
    return Remembered(answer, graph, [&](CUgraphExec* out) {                                 \
      return TheDriver().cuGraphInstantiateWithParams##suffix(out, graph, parameters);       \
    });                                                                                      \
  }                                                                                          \
  CUresult cuGraphUpload##suffix(CUgraphExec graph, CUstream stream) {                       \
    GraphMemory memory(graph, stream, sizeof #suffix > 1);                                   \
    if (memory.is_denied()) return CUDA_ERROR_OUT_OF_MEMORY;                                 \
    return memory.Done(TheDriver().cuGraphUpload##suffix(graph, stream));                    \
  }
INSTANTIATE_AND_UPLOAD()
INSTANTIATE_AND_UPLOAD(_ptsz)

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  const CUresult result = TheDriver().cuDeviceGraphMemTrim(device);
  SettleGraphs(device);
  return result;
}
