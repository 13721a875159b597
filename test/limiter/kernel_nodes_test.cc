// SPDX-License-Identifier: Apache-2.0
// Code of kernels in graphs that are made by hand, where code is loaded only when it is needed.
#include <functional>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

constexpr char kText[] = ".visible .entry other() {}";

class KernelNodesTest : public MemoryTest {
 protected:
  explicit KernelNodesTest(const std::string& hardware = "1xt4") : MemoryTest(hardware) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,lazy=1,module-mib=20");
  }
  // A function of a module of its own, which no call found by name.
  CUfunction NewFunction() {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
    using Enumerate = CUresult(CUfunction*, unsigned, CUmodule);
    EXPECT_EQ(cuda().As<Enumerate>("cuModuleEnumerateFunctions")(&function, 1, module),
              CUDA_SUCCESS);
    return function;
  }
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda().As<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0), CUDA_SUCCESS);
    return graph;
  }
  template <typename Parameters>
  static Parameters Kernel(CUfunction function) {
    return {.func = function,
            .gridDimX = 1,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 1,
            .blockDimY = 1,
            .blockDimZ = 1};
  }
  static CUDA_KERNEL_NODE_PARAMS_v1 First(CUfunction function) {
    return Kernel<CUDA_KERNEL_NODE_PARAMS_v1>(function);
  }
  static CUDA_KERNEL_NODE_PARAMS Second(CUfunction function) {
    return Kernel<CUDA_KERNEL_NODE_PARAMS>(function);
  }
  static CUgraphNodeParams AnyNode(CUfunction function) {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
    parameters.kernel = Second(function);
    return parameters;
  }
  static CUgraphNode Add(CUgraph graph, CUfunction function) {
    CUgraphNode node = nullptr;
    const auto parameters = Second(function);
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    return node;
  }
  static void LaunchAll(CUgraph graph) {
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
};

TEST_F(KernelNodesTest, WhateverAddsANodeItsCodeIsCounted) {
  const std::function<CUresult(CUgraph, CUgraphNode*, CUfunction)> kWays[] = {
      [](CUgraph graph, CUgraphNode* node, CUfunction function) {
        const auto parameters = First(function);
        return cuGraphAddKernelNode(node, graph, nullptr, 0, &parameters);
      },
      [](CUgraph graph, CUgraphNode* node, CUfunction function) {
        const auto parameters = Second(function);
        return cuGraphAddKernelNode_v2(node, graph, nullptr, 0, &parameters);
      },
      [](CUgraph graph, CUgraphNode* node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphAddNode(node, graph, nullptr, 0, &parameters);
      },
      [](CUgraph graph, CUgraphNode* node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphAddNode_v2(node, graph, nullptr, nullptr, 0, &parameters);
      },
      [](CUgraph graph, CUgraphNode* node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphAddNode_v3(node, graph, nullptr, nullptr, 0, &parameters);
      },
  };
  Run([&] {
    uint64_t mib = 0;
    for (const auto& way : kWays) {
      CUgraph graph = NewGraph();
      CUgraphNode node = nullptr;
      const CUfunction function = NewFunction();
      ExpectTrue(mib);
      EXPECT_EQ(way(graph, &node, function), CUDA_SUCCESS);
      mib += 20;
      LaunchAll(graph);
      ExpectTrue(mib);
      EXPECT_EQ(way(graph, &node, function), CUDA_SUCCESS);
      LaunchAll(graph);
      ExpectTrue(mib);
    }
  });
}

TEST_F(KernelNodesTest, WhateverGivesANodeAnotherKernelItsCodeIsCounted) {
  using Way = std::function<CUresult(CUgraphExec, CUgraphNode, CUfunction)>;
  const Way kWays[] = {
      [](CUgraphExec, CUgraphNode node, CUfunction function) {
        const auto parameters = First(function);
        return cuGraphKernelNodeSetParams(node, &parameters);
      },
      [](CUgraphExec, CUgraphNode node, CUfunction function) {
        const auto parameters = Second(function);
        return cuGraphKernelNodeSetParams_v2(node, &parameters);
      },
      [](CUgraphExec, CUgraphNode node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphNodeSetParams(node, &parameters);
      },
      [](CUgraphExec, CUgraphNode node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphNodeSetParams_v2(node, &parameters);
      },
      [](CUgraphExec exec, CUgraphNode node, CUfunction function) {
        const auto parameters = First(function);
        return cuGraphExecKernelNodeSetParams(exec, node, &parameters);
      },
      [](CUgraphExec exec, CUgraphNode node, CUfunction function) {
        const auto parameters = Second(function);
        return cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters);
      },
      [](CUgraphExec exec, CUgraphNode node, CUfunction function) {
        auto parameters = AnyNode(function);
        return cuGraphExecNodeSetParams(exec, node, &parameters);
      },
  };
  Run([&] {
    CUgraph graph = NewGraph();
    CUgraphNode node = Add(graph, NewFunction());
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    uint64_t mib = 20;
    ExpectTrue(mib);
    for (const Way& way : kWays) {
      EXPECT_EQ(way(exec, node, NewFunction()), CUDA_SUCCESS);
      mib += 20;
      LaunchAll(graph);
      EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
      ExpectTrue(mib);
    }
  });
}

TEST_F(KernelNodesTest, InAGraphWithinAnotherToo) {
  Run([&] {
    CUgraph child = NewGraph(), graph = NewGraph();
    Add(child, NewFunction());
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuGraphAddChildGraphNode)>("cuGraphAddChildGraphNode")(
                  &node, graph, nullptr, 0, child),
              CUDA_SUCCESS);
    LaunchAll(graph);
    ExpectTrue(20);
  });
}

TEST_F(KernelNodesTest, AKernelOfALibraryIsItsLibrarys) {
  Run([&] {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "other"), CUDA_SUCCESS);
    auto parameters = Second(nullptr);
    parameters.kern = kernel;
    CUgraph graph = NewGraph();
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    LaunchAll(graph);
    ExpectTrue(20);
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(KernelNodesTest, AKernelWhoseCodeHasNoRoomIsInNoGraph) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,lazy=1,module-mib=600");
  Run([&] {
    CUgraph graph = NewGraph();
    CUgraphNode node = Add(graph, NewFunction());
    auto parameters = AnyNode(NewFunction());
    EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &parameters), CUDA_ERROR_OUT_OF_MEMORY);
    size_t count = 0;
    EXPECT_EQ(cuda().As<decltype(cuGraphGetNodes)>("cuGraphGetNodes")(graph, nullptr, &count),
              CUDA_SUCCESS);
    EXPECT_EQ(count, 1u);
    // The code is loaded, and no call unloads it.
    ExpectTrue(1200);
  });
}

TEST_F(KernelNodesTest, OtherNodesAndWhatTheDriverRefusesAreAsTheyWere) {
  Run([&] {
    CUgraph graph = NewGraph();
    CUgraphNode node = nullptr;
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    parameters.alloc.bytesize = 100;
    EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    EXPECT_NE(parameters.alloc.dptr, 0u);
    EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    const auto none = Second(nullptr);
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &none), CUDA_ERROR_INVALID_VALUE);
    ExpectTrue(0);
  });
}

class KernelsOfTwoDevicesTest : public KernelNodesTest {
 protected:
  KernelsOfTwoDevicesTest() : KernelNodesTest("8xv100") {
    limits_.count = 2;
    limits_.devices[1].bytes = 1024 * kMiB;
  }
  CUcontext UseSecond() {
    CUcontext second = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(second), CUDA_SUCCESS);
    return second;
  }
  void ExpectTaken(uint64_t first, uint64_t second) {
    const auto resident = cuda().As<uint64_t(const char*, pid_t)>("fakecuda_resident");
    EXPECT_EQ(resident("GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0", 0), first * kMiB);
    EXPECT_EQ(resident("GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33", 0), second * kMiB);
    EXPECT_EQ(Used(0), first * kMiB);
    EXPECT_EQ(Used(1), second * kMiB);
  }
};

TEST_F(KernelsOfTwoDevicesTest, CodeIsCountedWhereItsModuleIsWhicheverContextIsCurrent) {
  Run([&] {
    const CUfunction node = NewFunction(), launched = NewFunction();
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
    CUcontext const second = UseSecond();
    Add(NewGraph(), node);
    ExpectTaken(20, 0);
    cuLaunchKernel(launched, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    ExpectTaken(40, 0);
    CUfunction named = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&named, module, "other"), CUDA_SUCCESS);
    ExpectTaken(60, 0);
    CUcontext current = nullptr;
    EXPECT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, second);
  });
}

}  // namespace
}  // namespace tessera::limiter
