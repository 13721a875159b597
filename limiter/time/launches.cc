// SPDX-License-Identifier: Apache-2.0
// Hooks of the calls that launch kernels. Each waits for its time first.
#include "limiter/driver/driver.h"
#include "limiter/memory/contexts.h"
#include "limiter/memory/graph_places.h"
#include "limiter/memory/graphs.h"
#include "limiter/memory/launched_code.h"
#include "limiter/time/meter.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

struct Shape {
  unsigned x, y, z;
};

LaunchedWork KernelOf(CUfunction function, const Shape& grid, const Shape& block) {
  uint64_t key = Mixed(reinterpret_cast<uintptr_t>(function), grid.x | uint64_t{grid.y} << 32);
  key = Mixed(key, grid.z | uint64_t{block.x} << 32);
  return {Mixed(key, block.y | uint64_t{block.z} << 32), function};
}

LaunchedWork KernelOf(const CUlaunchConfig& config, CUfunction function) {
  return KernelOf(function, {config.gridDimX, config.gridDimY, config.gridDimZ},
                  {config.blockDimX, config.blockDimY, config.blockDimZ});
}

// CUDA 2 sets the block in an earlier call, so it is unknown here.
LaunchedWork KernelOf(CUfunction function, int width, int height) {
  return KernelOf(function, {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}, {});
}

// The driver's answer to call(), which may wait first. what() is called only if the launch is
// limited.
template <typename What, typename Call>
CUresult Limited(const Stream& stream, What what, Call call) {
  Launch launch(stream);
  {
    const StreamContext context(stream);
    if (launch.IsLimited()) [[unlikely]]
      launch.Begin(launch.Admit(what()));
  }
  return launch.Done(call());
}

// Limited() for a kernel, whose code is loaded first.
template <typename What, typename Call>
CUresult LimitedKernel(CUfunction kernel, const Stream& stream, What what, Call call) {
  if (MayLoadCode(kernel)) [[unlikely]] {
    const StreamContext context(stream);
    const CUresult result = LoadCode(kernel);
    if (result != CUDA_SUCCESS) return result;
  }
  return Limited(stream, what, call);
}

// One part of a launch on several devices, and the part before it.
struct Part {
  Launch* launch;
  Launch::Measuring measuring;
  CUcontext context;  // of its stream
  const Part* before;
};

// The parts begin together. All are admitted before any is measured: a device that waits for
// another one's admission is idle, and that time must not be measured.
void BeginAll(const Part* last) {
  for (const Part* part = last; part != nullptr; part = part->before) {
    const PushedContext pushed(part->context);
    part->launch->Begin(part->measuring);
  }
}

// Admits the parts from `at` on, each to its device; then launches all.
CUresult LaunchAll(CUDA_LAUNCH_PARAMS* launches, unsigned count, unsigned flags, unsigned at,
                   const Part* before) {
  if (at == count) {
    BeginAll(before);
    return TheDriver().cuLaunchCooperativeKernelMultiDevice(launches, count, flags);
  }
  const CUDA_LAUNCH_PARAMS& one = launches[at];
  const Stream stream{one.hStream, false};
  Launch launch(stream);
  Part part{&launch, {}, nullptr, before};
  TheDriver().cuStreamGetCtx(one.hStream, &part.context);
  {
    const PushedContext pushed(part.context);
    const CUresult result = MayLoadCode(one.function) ? LoadCode(one.function) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) return result;
    if (launch.IsLimited()) {
      part.measuring =
          launch.Admit(KernelOf(one.function, {one.gridDimX, one.gridDimY, one.gridDimZ},
                                {one.blockDimX, one.blockDimY, one.blockDimZ}));
    }
  }
  const CUresult result = LaunchAll(launches, count, flags, at + 1, &part);
  const PushedContext pushed(part.context);
  return launch.Done(result);
}

// A graph's key at one of the places where it runs.
uint64_t KeyAt(CUgraphExec graph, int place) {
  return Mixed(reinterpret_cast<uintptr_t>(graph), static_cast<uint64_t>(place) + 1);
}

// Launches a graph that has kernels at several places. It waits for each place, and is measured in
// its stream for all of them. A place without a limit costs nothing.
template <typename Call>
CUresult LaunchAt(PlaceBits places, CUgraphExec graph, const Stream& stream, const Part* before,
                  Call call) {
  if (places == 0) {
    {
      const StreamContext context(stream);
      BeginAll(before);
    }
    return call();
  }
  const int place = __builtin_ctz(places);
  Launch launch(stream);
  Part part{&launch, {}, nullptr, before};
  {
    const StreamContext context(stream);
    if (launch.IsLimitedAt(place)) part.measuring = launch.Admit({KeyAt(graph, place)});
  }
  return launch.Done(LaunchAt(places & (places - 1), graph, stream, &part, call));
}

template <typename Call>
CUresult LaunchGraph(CUgraphExec graph, const Stream& stream, Call call) {
  const PlaceBits places = PlacesOf(graph);
  if (places != 0) [[unlikely]]
    return LaunchAt(places, graph, stream, nullptr, call);
  return Limited(
      stream, [graph] { return LaunchedWork{reinterpret_cast<uintptr_t>(graph)}; }, call);
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void** parameters, void** extra) {
  return LimitedKernel(
      function, Stream{stream, false},
      [&] { return KernelOf(function, {gx, gy, gz}, {bx, by, bz}); },
      [&] {
        return TheDriver().cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream,
                                          parameters, extra);
      });
}
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                             CUstream stream, void** parameters, void** extra) {
  return LimitedKernel(
      function, Stream{stream, true},
      [&] { return KernelOf(function, {gx, gy, gz}, {bx, by, bz}); },
      [&] {
        return TheDriver().cuLaunchKernel_ptsz(function, gx, gy, gz, bx, by, bz, shared, stream,
                                               parameters, extra);
      });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  const Driver& driver = TheDriver();
  if (config == nullptr) return driver.cuLaunchKernelEx(config, function, parameters, extra);
  return LimitedKernel(
      function, Stream{config->hStream, false}, [&] { return KernelOf(*config, function); },
      [&] { return driver.cuLaunchKernelEx(config, function, parameters, extra); });
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters,
                               void** extra) {
  const Driver& driver = TheDriver();
  if (config == nullptr) return driver.cuLaunchKernelEx_ptsz(config, function, parameters, extra);
  return LimitedKernel(
      function, Stream{config->hStream, true}, [&] { return KernelOf(*config, function); },
      [&] { return driver.cuLaunchKernelEx_ptsz(config, function, parameters, extra); });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                   CUstream stream, void** parameters) {
  return LimitedKernel(
      function, Stream{stream, false},
      [&] { return KernelOf(function, {gx, gy, gz}, {bx, by, bz}); },
      [&] {
        return TheDriver().cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared,
                                                     stream, parameters);
      });
}
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                        CUstream stream, void** parameters) {
  return LimitedKernel(
      function, Stream{stream, true},
      [&] { return KernelOf(function, {gx, gy, gz}, {bx, by, bz}); },
      [&] {
        return TheDriver().cuLaunchCooperativeKernel_ptsz(function, gx, gy, gz, bx, by, bz, shared,
                                                          stream, parameters);
      });
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches, unsigned count,
                                              unsigned flags) {
  constexpr unsigned kMostDevices = 64;  // more is an error, which the driver reports
  const bool is_good = launches != nullptr && count <= kMostDevices;
  return LaunchAll(launches, count, flags, is_good ? 0 : count, nullptr);
}

CUresult cuLaunch(CUfunction function) {
  return LimitedKernel(
      function, Stream{}, [&] { return KernelOf(function, 1, 1); },
      [&] { return TheDriver().cuLaunch(function); });
}
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return LimitedKernel(
      function, Stream{}, [&] { return KernelOf(function, width, height); },
      [&] { return TheDriver().cuLaunchGrid(function, width, height); });
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return LimitedKernel(
      function, Stream{stream, false}, [&] { return KernelOf(function, width, height); },
      [&] { return TheDriver().cuLaunchGridAsync(function, width, height, stream); });
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  GraphMemory memory(graph, stream, false);
  if (memory.is_denied()) return CUDA_ERROR_OUT_OF_MEMORY;
  return memory.Done(LaunchGraph(graph, Stream{stream, false},
                                 [&] { return TheDriver().cuGraphLaunch(graph, stream); }));
}
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  GraphMemory memory(graph, stream, true);
  if (memory.is_denied()) return CUDA_ERROR_OUT_OF_MEMORY;
  return memory.Done(LaunchGraph(graph, Stream{stream, true},
                                 [&] { return TheDriver().cuGraphLaunch_ptsz(graph, stream); }));
}
// Another graph may get the same address.
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  ForgetCost(reinterpret_cast<uintptr_t>(graph));
  for (PlaceBits places = ForgetPlaces(graph); places != 0; places &= places - 1) {
    ForgetCost(KeyAt(graph, __builtin_ctz(places)));
  }
  ForgetGraphMemory(graph);
  return TheDriver().cuGraphExecDestroy(graph);
}
