// SPDX-License-Identifier: Apache-2.0
// Graphs: the memory that they allocate when they run, and the code of their kernels.
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUgraph graph = nullptr;
CUgraphExec exec = nullptr;
CUmodule modules[2] = {};

void SayOfGraphs() {
  uint64_t used = 0, reserved = 0;
  CU(cuDeviceGetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
  CU(cuDeviceGetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved);
  Say("reserved " + std::to_string(reserved) + ", used " + std::to_string(used));
}

void Destroy() {
  if (exec != nullptr) CU(cuGraphExecDestroy)(exec);
  if (graph != nullptr) CU_AS(cuGraphDestroy, CUgraph)(graph);
  for (CUmodule& module : modules) {
    if (module != nullptr) CU(cuModuleUnload)(module);
    module = nullptr;
  }
  exec = nullptr;
  graph = nullptr;
}
void DestroyAndTrim() {
  Synchronize();
  Destroy();
  CU(cuDeviceGraphMemTrim)(0);
}

// A graph that allocates so much and frees it.
CUresult NewAllocating(uint64_t bytes) {
  graph = NewGraph();
  CUDA_MEM_ALLOC_NODE_PARAMS wanted{};
  wanted.poolProps = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
  wanted.bytesize = bytes;
  CUgraphNode allocation = nullptr, freed = nullptr;
  FirstFailure made;
  made << CU(cuGraphAddMemAllocNode)(&allocation, graph, nullptr, 0, &wanted);
  if (made.result != CUDA_SUCCESS) return made.result;
  made << CU_AS(cuGraphAddMemFreeNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                CUdeviceptr)(&freed, graph, &allocation, 1, wanted.dptr);
  return made.result;
}

// Such a graph, made ready by `instantiate` and run by `launch`.
template <typename Instantiate, typename Launch>
CUresult Run(uint64_t bytes, Instantiate instantiate, Launch launch) {
  FirstFailure run;
  run << NewAllocating(bytes);
  if (run.result == CUDA_SUCCESS) run << instantiate();
  if (run.result == CUDA_SUCCESS) run << launch();
  Synchronize();
  SayOfGraphs();
  return run.result;
}
CUresult WithFlags() {
  return CU(cuGraphInstantiateWithFlags)(&exec, graph, 0);
}
CUresult Launch() {
  return CU(cuGraphLaunch)(exec, nullptr);
}
template <typename Function>
CUresult WithParameters(Function* function) {
  constexpr cuuint64_t kUpload = 2;
  CUDA_GRAPH_INSTANTIATE_PARAMS wanted{};
  wanted.flags = kUpload;
  wanted.hUploadStream = NewStream();
  return function(&exec, graph, &wanted);
}
CUresult Nothing() {
  return CUDA_SUCCESS;
}

// A kernel of a module of its own, which has a variable of so many bytes.
CUresult NewKernel(uint64_t bytes, int which, CUfunction* kernel) {
  FirstFailure made;
  made << CU(cuModuleLoadData)(&modules[which], Ptx(bytes).c_str());
  if (made.result == CUDA_SUCCESS) made << UnaskedKernel(modules[which], kernel);
  return made.result;
}
template <typename Parameters>
Parameters Kernel(CUfunction kernel) {
  Parameters parameters{};
  parameters.func = kernel;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  return parameters;
}
CUgraphNodeParams AnyNode(CUfunction kernel) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  parameters.kernel = Kernel<CUDA_KERNEL_NODE_PARAMS>(kernel);
  return parameters;
}
CUresult AddKernel(CUgraphNode* node, CUfunction kernel) {
  const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS>(kernel);
  return CU(cuGraphAddKernelNode_v2)(node, graph, nullptr, 0, &parameters);
}
CUresult InstantiateAndLaunch() {
  FirstFailure run;
  run << WithFlags();
  if (run.result == CUDA_SUCCESS) run << Launch();
  Synchronize();
  return run.result;
}

template <typename Add>
CUresult Added(uint64_t bytes, Add add) {
  graph = NewGraph();
  CUfunction kernel = nullptr;
  CUgraphNode node = nullptr;
  FirstFailure added;
  added << NewKernel(bytes, 0, &kernel);
  if (added.result == CUDA_SUCCESS) added << add(&node, kernel);
  if (added.result == CUDA_SUCCESS) added << InstantiateAndLaunch();
  return added.result;
}
// A node, and the graph made ready, get another kernel.
template <typename Change>
CUresult Changed(uint64_t bytes, Change change) {
  graph = NewGraph();
  CUfunction first = nullptr, second = nullptr;
  CUgraphNode node = nullptr;
  FirstFailure changed;
  changed << NewKernel(0, 0, &first);
  if (changed.result == CUDA_SUCCESS) changed << AddKernel(&node, first);
  if (changed.result == CUDA_SUCCESS) changed << WithFlags();
  if (changed.result == CUDA_SUCCESS) changed << NewKernel(bytes, 1, &second);
  if (changed.result == CUDA_SUCCESS) changed << change(node, second);
  if (changed.result == CUDA_SUCCESS) changed << Launch();
  Synchronize();
  return changed.result;
}

constexpr Step kSteps[] = {
    {"cuGraphInstantiateWithFlags cuGraphLaunch cuGraphExecDestroy cuDeviceGraphMemTrim",
     [](uint64_t bytes) { return Run(bytes, WithFlags, Launch); }, DestroyAndTrim},
    {"cuGraphInstantiateWithFlags", [](uint64_t bytes) { return Run(bytes, WithFlags, Nothing); },
     DestroyAndTrim, "not launched"},
    {"cuGraphInstantiate_v2",
     [](uint64_t bytes) {
       return Run(
           bytes, [] { return CU(cuGraphInstantiate_v2)(&exec, graph, nullptr, nullptr, 0); },
           Launch);
     },
     DestroyAndTrim},
    {"cuGraphInstantiate",
     [](uint64_t bytes) {
       return Run(
           bytes, [] { return CU(cuGraphInstantiate)(&exec, graph, nullptr, nullptr, 0); }, Launch);
     },
     DestroyAndTrim},
    {"cuGraphInstantiateWithParams",
     [](uint64_t bytes) {
       return Run(bytes, [] { return WithParameters(CU(cuGraphInstantiateWithParams)); }, Nothing);
     },
     DestroyAndTrim, "uploaded, not launched"},
    {"cuGraphInstantiateWithParams_ptsz",
     [](uint64_t bytes) {
       return Run(
           bytes, [] { return WithParameters(CU(cuGraphInstantiateWithParams_ptsz)); }, Nothing);
     },
     DestroyAndTrim, "uploaded, not launched"},
    {"cuGraphUpload",
     [](uint64_t bytes) {
       return Run(bytes, WithFlags, [] { return CU(cuGraphUpload)(exec, nullptr); });
     },
     DestroyAndTrim},
    {"cuGraphUpload_ptsz",
     [](uint64_t bytes) {
       return Run(bytes, WithFlags, [] { return CU(cuGraphUpload_ptsz)(exec, nullptr); });
     },
     DestroyAndTrim},
    {"cuGraphLaunch_ptsz",
     [](uint64_t bytes) {
       return Run(bytes, WithFlags, [] { return CU(cuGraphLaunch_ptsz)(exec, nullptr); });
     },
     DestroyAndTrim},
    {"cuGraphAddKernelNode_v2",
     [](uint64_t bytes) {
       return Added(bytes,
                    [](CUgraphNode* node, CUfunction kernel) { return AddKernel(node, kernel); });
     },
     Destroy},
    {"cuGraphAddKernelNode",
     [](uint64_t bytes) {
       return Added(bytes, [](CUgraphNode* node, CUfunction kernel) {
         const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS_v1>(kernel);
         return CU(cuGraphAddKernelNode)(node, graph, nullptr, 0, &parameters);
       });
     },
     Destroy},
    {"cuGraphAddNode",
     [](uint64_t bytes) {
       return Added(bytes, [](CUgraphNode* node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphAddNode)(node, graph, nullptr, 0, &parameters);
       });
     },
     Destroy},
    {"cuGraphAddNode_v2",
     [](uint64_t bytes) {
       return Added(bytes, [](CUgraphNode* node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphAddNode_v2)(node, graph, nullptr, nullptr, 0, &parameters);
       });
     },
     Destroy},
    {"cuGraphAddNode_v3",
     [](uint64_t bytes) {
       return Added(bytes, [](CUgraphNode* node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphAddNode_v3)(node, graph, nullptr, nullptr, 0, &parameters);
       });
     },
     Destroy},
    {"cuGraphKernelNodeSetParams",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS_v1>(kernel);
         return CU(cuGraphKernelNodeSetParams)(node, &parameters);
       });
     },
     Destroy},
    {"cuGraphKernelNodeSetParams_v2",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS>(kernel);
         return CU(cuGraphKernelNodeSetParams_v2)(node, &parameters);
       });
     },
     Destroy},
    {"cuGraphNodeSetParams",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphNodeSetParams)(node, &parameters);
       });
     },
     Destroy},
    {"cuGraphNodeSetParams_v2",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphNodeSetParams_v2)(node, &parameters);
       });
     },
     Destroy},
    {"cuGraphExecKernelNodeSetParams",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS_v1>(kernel);
         return CU(cuGraphExecKernelNodeSetParams)(exec, node, &parameters);
       });
     },
     Destroy},
    {"cuGraphExecKernelNodeSetParams_v2",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         const auto parameters = Kernel<CUDA_KERNEL_NODE_PARAMS>(kernel);
         return CU(cuGraphExecKernelNodeSetParams_v2)(exec, node, &parameters);
       });
     },
     Destroy},
    {"cuGraphExecNodeSetParams",
     [](uint64_t bytes) {
       return Changed(bytes, [](CUgraphNode node, CUfunction kernel) {
         auto parameters = AnyNode(kernel);
         return CU(cuGraphExecNodeSetParams)(exec, node, &parameters);
       });
     },
     Destroy},
};

}  // namespace

std::span<const Step> GraphSteps() {
  return kSteps;
}

}  // namespace tessera::card
