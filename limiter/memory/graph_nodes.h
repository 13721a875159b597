// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/driver/driver.h"
#include "limiter/memory/charge.h"

namespace tessera::limiter {

// Memory by mmap: the program's allocator may be in any state. Null: no memory.
template <typename T>
T* TakePages(size_t count) {
  void* const memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}
template <typename T>
void GivePages(T* memory, size_t count) {
  if (memory != nullptr) munmap(memory, count * sizeof(T));
}

// Calls visit(node, type) for each node of a graph and of its child graphs until one returns false.
// The driver does not report the contents of conditional nodes. False: visit() returned false, or
// no memory.
template <typename Visit>
bool VisitNodes(CUgraph graph, Visit visit, int depth = 0) {
  constexpr int kDeepest = 64;  // a graph within a graph
  const Driver& driver = TheDriver();
  size_t count = 0;
  if (driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return true;
  const size_t room = count;
  auto* const nodes = TakePages<CUgraphNode>(room);
  bool done = nodes != nullptr && depth < kDeepest;
  if (done && driver.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS) count = 0;
  for (size_t i = 0; done && i < count; ++i) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    if (driver.cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS) continue;
    done = visit(nodes[i], type);
    if (done && type == CU_GRAPH_NODE_TYPE_GRAPH &&
        driver.cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS) {
      done = VisitNodes(child, visit, depth + 1);
    }
  }
  GivePages(nodes, room);
  return done;
}

// The allocations and frees of a graph and its child graphs. An address appears twice if one
// allocation reuses the memory of another. One thread.
class GraphAllocations {
 public:
  explicit GraphAllocations(int most_devices) : most_devices_(most_devices) {}
  ~GraphAllocations() { GivePages(all_, room_); }
  GraphAllocations(const GraphAllocations&) = delete;
  GraphAllocations& operator=(const GraphAllocations&) = delete;

  // False: no memory.
  bool Add(CUgraph graph) {
    return VisitNodes(
        graph, [this](CUgraphNode node, CUgraphNodeType type) { return AddNode(node, type); });
  }

  // By device, then by address; frees come first.
  void Sort() {
    std::sort(all_, all_ + count_, [](const Allocation& a, const Allocation& b) {
      return a.device != b.device ? a.device < b.device : a.begin < b.begin;
    });
  }

  // Bytes on a device. After Sort().
  uint64_t BytesOn(int device) const {
    uint64_t bytes = 0, end = 0;
    for (size_t i = 0; i < count_; ++i) {
      const Allocation& one = all_[i];
      if (one.device != device || one.end <= end) continue;
      bytes += one.end - (one.begin > end ? one.begin : end);
      end = one.end;
    }
    return bytes;
  }

  // True if the graph allocates memory there that it does not free itself. After Sort().
  bool LeavesOn(int device) const {
    size_t freed = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (all_[i].device != device) continue;
      while (IsFreed(freed) && all_[freed].begin < all_[i].begin) ++freed;
      if (!IsFreed(freed) || all_[freed].begin != all_[i].begin) return true;
      ++freed;
    }
    return false;
  }

 private:
  static constexpr int kFreed = -1;  // in the place of a device

  struct Allocation {
    uint64_t begin;
    uint64_t end;
    int device;
  };

  bool AddNode(CUgraphNode node, CUgraphNodeType type) {
    const Driver& driver = TheDriver();
    CUdeviceptr freed = 0;
    if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
      const bool known = driver.cuGraphMemFreeNodeGetParams(node, &freed) == CUDA_SUCCESS;
      return !known || Put({freed, freed, kFreed});
    }
    CUDA_MEM_ALLOC_NODE_PARAMS one{};
    if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        driver.cuGraphMemAllocNodeGetParams(node, &one) != CUDA_SUCCESS) {
      return true;
    }
    const int device = DeviceOfLocation(one.poolProps.location);
    if (device < 0 || device >= most_devices_) return true;
    const uint64_t bytes = RoundUp(one.bytesize, kChunk);
    return Put({one.dptr, one.dptr + (bytes > kMaxBytes ? kMaxBytes : bytes), device});
  }

  bool IsFreed(size_t i) const { return i < count_ && all_[i].device == kFreed; }

  bool Put(const Allocation& one) {
    if (!MakeRoom()) return false;
    all_[count_++] = one;
    return true;
  }

  bool MakeRoom() {
    if (count_ < room_) return true;
    const size_t room = room_ == 0 ? 64 : 2 * room_;
    auto* const larger = TakePages<Allocation>(room);
    if (larger == nullptr) return false;
    for (size_t i = 0; i < count_; ++i) larger[i] = all_[i];
    GivePages(all_, room_);
    all_ = larger;
    room_ = room;
    return true;
  }

  const int most_devices_;
  Allocation* all_ = nullptr;
  size_t count_ = 0;
  size_t room_ = 0;
};

}  // namespace tessera::limiter
