// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/graph_places.h"

#include "limiter/memory/charge.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/graph_nodes.h"

namespace tessera::limiter {
namespace {

// Of all contexts that were ever made, or tried.
constinit std::atomic<CUdevice> first_device = -1;
constinit std::atomic<PlaceBits> seen = 0;

PlaceBits BitOf(int place) {
  return place >= 0 && place < kMaxDevices ? PlaceBits{1} << place : kNowhere;
}

// 0: the driver does not report it.
PlaceBits PlacesOfContext(CUcontext context) {
  CUcontext current = nullptr;
  const PushedContext pushed(context);
  const bool is_current = context != nullptr &&
                          TheDriver().cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
                          current == context;
  return is_current ? BitOf(CurrentPlace()) : 0;
}

// 0: the function is in no module, or its device has no limit.
PlaceBits PlacesOfFunction(CUfunction function) {
  CUmodule module = nullptr;
  Holding holding;
  Table* const table = TheTable();
  const bool is_known = function != nullptr && table != nullptr &&
                        TheDriver().cuFuncGetModule(&module, function) == CUDA_SUCCESS &&
                        table->Find(Sort::kModule, reinterpret_cast<uint64_t>(module), &holding);
  return is_known ? BitOf(holding.device) : 0;
}

// A module's kernel runs in the module's context, whatever the node says. An unknown kernel may run
// on any device in use.
PlaceBits PlacesOfKernel(CUgraphNode node) {
  const Driver& driver = TheDriver();
  CUDA_KERNEL_NODE_PARAMS kernel{};
  if (driver.cuGraphKernelNodeGetParams_v2(node, &kernel) != CUDA_SUCCESS) {
    CUDA_KERNEL_NODE_PARAMS_v1 former{};
    driver.cuGraphKernelNodeGetParams(node, &former);
    kernel.func = former.func;
  }
  if (const PlaceBits places = PlacesOfFunction(kernel.func); places != 0) return places;
  if (const PlaceBits places = PlacesOfContext(kernel.ctx); places != 0) return places;
  return seen.load(std::memory_order_relaxed);
}

bool FindIn(CUgraph graph, PlaceBits* places) {
  return VisitNodes(graph, [places](CUgraphNode node, CUgraphNodeType type) {
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) *places |= PlacesOfKernel(node);
    // The driver does not report the contents of a conditional node.
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) *places |= seen.load(std::memory_order_relaxed);
    return true;
  });
}

}  // namespace

void SayDevice(CUdevice device) {
  seen.fetch_or(BitOf(PlaceOfDevice(device)), std::memory_order_relaxed);
  CUdevice none = -1;
  if (first_device.compare_exchange_strong(none, device) || none == device) return;
  has_several_devices.store(true);
}

// A graph that is made while there is one device may be launched when there are two.
bool RememberPlaces(CUgraphExec exec, CUgraph graph) {
  const bool has_several = has_several_devices.load();
  PlaceBits places = has_several ? 0 : seen.load(std::memory_order_relaxed);
  if (has_several && !FindIn(graph, &places)) return false;
  return places == 0 || Remember(Sort::kGraphPlaces, reinterpret_cast<uint64_t>(exec),
                                 {.other = places, .references = 1});
}

PlaceBits ForgetPlaces(CUgraphExec exec) {
  Holding holding;
  Table* const table = TheTable();
  const bool was_there =
      table != nullptr &&
      table->Take(Sort::kGraphPlaces, reinterpret_cast<uint64_t>(exec), &holding);
  const bool ran_there = was_there && has_several_devices.load(std::memory_order_relaxed);
  return ran_there ? static_cast<PlaceBits>(holding.other) : 0;
}

PlaceBits FindPlaces(CUgraphExec exec) {
  Holding holding;
  Table* const table = TheTable();
  const bool is_there = table != nullptr &&
                        table->Find(Sort::kGraphPlaces, reinterpret_cast<uint64_t>(exec), &holding);
  return is_there ? static_cast<PlaceBits>(holding.other) : 0;
}

}  // namespace tessera::limiter
