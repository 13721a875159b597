// SPDX-License-Identifier: Apache-2.0
// The ways in which a graph becomes launchable, and gets its memory before its launch.
#include "limiter/graph_memory_test.h"

#include <functional>

namespace tessera::limiter {
namespace {

using GraphUploadsTest = GraphMemoryTest;

TEST_F(GraphUploadsTest, HoweverAGraphIsInstantiatedWhatItAllocatesIsOfTheLimit) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  using Make = CUresult (*)(CUgraphExec*, CUgraph);
  const auto with = [&parameters](auto instantiate) {
    return [&parameters, instantiate](CUgraphExec* out, CUgraph graph) {
      return instantiate(out, graph, &parameters);
    };
  };
  const std::function<CUresult(CUgraphExec*, CUgraph)> ways[] = {
      Make{[](CUgraphExec* out, CUgraph graph) {
        return cuGraphInstantiate(out, graph, nullptr, nullptr, 0);
      }},
      Make{[](CUgraphExec* out, CUgraph graph) {
        return cuGraphInstantiate_v2(out, graph, nullptr, nullptr, 0);
      }},
      Make{[](CUgraphExec* out, CUgraph graph) {
        return cuGraphInstantiateWithFlags(out, graph, 0);
      }},
      with(cuGraphInstantiateWithParams),
      with(cuGraphInstantiateWithParams_ptsz),
  };
  for (const auto& instantiate : ways) {
    SCOPED_TRACE(&instantiate - ways);
    Run([&] {
      CUgraph large = NewGraph(), small = NewGraph();
      AddFree(large, AddAllocation(large, 1026 * kMiB));
      AddFree(small, AddAllocation(small, 600 * kMiB));
      CUgraphExec exec = nullptr;
      ASSERT_EQ(instantiate(&exec, large), CUDA_SUCCESS);
      EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
      ASSERT_EQ(instantiate(&exec, small), CUDA_SUCCESS);
      EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), 600 * kMiB);
    });
  }
}

TEST_F(GraphUploadsTest, WhatAnUploadTakesIsOfTheLimit) {
  for (const auto& upload : {cuGraphUpload, cuGraphUpload_ptsz}) {
    Run([&] {
      EXPECT_EQ(upload(Temporary(1026 * kMiB), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(Used(0), 0u);
      CUgraphExec exec = Temporary(600 * kMiB);
      EXPECT_EQ(upload(exec, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), 600 * kMiB);
      EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), 600 * kMiB);
      CUdeviceptr pointer = 0;
      EXPECT_EQ(cuMemAlloc_v2(&pointer, 1000 * kMiB), CUDA_SUCCESS) << "it is not in use";
    });
  }
}

TEST_F(GraphUploadsTest, WhatIsUploadedAsItIsInstantiatedIsOfTheLimit) {
  for (const auto& instantiate :
       {cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz}) {
    Run([&] {
      constexpr cuuint64_t kUpload = 2;  // CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
      CUDA_GRAPH_INSTANTIATE_PARAMS parameters{.flags = kUpload};
      CUgraph large = NewGraph(), small = NewGraph();
      AddFree(large, AddAllocation(large, 1026 * kMiB));
      AddFree(small, AddAllocation(small, 600 * kMiB));
      CUgraphExec exec = nullptr;
      EXPECT_EQ(instantiate(&exec, large, &parameters), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(Used(0), 0u);
      EXPECT_EQ(instantiate(&exec, small, &parameters), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), 600 * kMiB);
    });
  }
}

}  // namespace
}  // namespace tessera::limiter
