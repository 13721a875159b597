// SPDX-License-Identifier: Apache-2.0
// Managed memory whose pages move elsewhere: never to a GPU that gets no memory.
#include <functional>
#include <vector>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

class MovesTest : public MemoryTest {
 protected:
  MovesTest() : MemoryTest("8xv100") {
    node_.Set("CUDA_VISIBLE_DEVICES", "0,1");
    limits_.source = Source::kFile;
    std::strcpy(limits_.devices[0].uuid, "GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0");
  }

  // Moves all of managed_ to a device; -1: to the host.
  struct Way {
    const char* name;
    std::function<CUresult(int device)> move;
  };
  static CUmemLocation Location(int device) {
    return {device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, device};
  }
  // Moves only the second one of two pieces to the device.
  template <typename Call>
  std::function<CUresult(int)> InBatch(Call call) {
    return [this, call](int device) {
      CUdeviceptr pointers[] = {managed_, managed_};
      size_t bytes[] = {kMiB, kMiB}, firsts[] = {0, 1};
      CUmemLocation locations[] = {Location(0), Location(device)};
      return call(pointers, bytes, 2, locations, firsts, 2, 0, nullptr);
    };
  }
  std::vector<Way> Ways() {
    constexpr int kPreferred = 3;  // CU_MEM_ADVISE_SET_PREFERRED_LOCATION
    return {
        {"cuMemAdvise",
         [this](int device) { return cuMemAdvise(managed_, kMiB, kPreferred, device); }},
        {"cuMemAdvise_v2",
         [this](int device) {
           return cuMemAdvise_v2(managed_, kMiB, kPreferred, Location(device));
         }},
        {"cuMemPrefetchAsync",
         [this](int device) { return cuMemPrefetchAsync(managed_, kMiB, device, nullptr); }},
        {"cuMemPrefetchAsync_ptsz",
         [this](int device) { return cuMemPrefetchAsync_ptsz(managed_, kMiB, device, nullptr); }},
        {"cuMemPrefetchAsync_v2",
         [this](int device) {
           return cuMemPrefetchAsync_v2(managed_, kMiB, Location(device), 0, nullptr);
         }},
        {"cuMemPrefetchAsync_v2_ptsz",
         [this](int device) {
           return cuMemPrefetchAsync_v2_ptsz(managed_, kMiB, Location(device), 0, nullptr);
         }},
        {"cuMemPrefetchBatchAsync", InBatch(cuMemPrefetchBatchAsync)},
        {"cuMemPrefetchBatchAsync_ptsz", InBatch(cuMemPrefetchBatchAsync_ptsz)},
        {"cuMemDiscardAndPrefetchBatchAsync", InBatch(cuMemDiscardAndPrefetchBatchAsync)},
        {"cuMemDiscardAndPrefetchBatchAsync_ptsz", InBatch(cuMemDiscardAndPrefetchBatchAsync_ptsz)},
    };
  }

  CUdeviceptr managed_ = 0;
};

TEST_F(MovesTest, PagesAreNotSentToAGpuThatTheFileDoesNotName) {
  Run([&] {
    constexpr unsigned kForAll = 1;  // CU_MEM_ATTACH_GLOBAL
    ASSERT_EQ(cuMemAllocManaged(&managed_, kMiB, kForAll), CUDA_SUCCESS);
    for (const Way& way : Ways()) {
      SCOPED_TRACE(way.name);
      EXPECT_EQ(way.move(1), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(way.move(0), CUDA_SUCCESS);
      EXPECT_EQ(way.move(-1), CUDA_SUCCESS);
      EXPECT_EQ(way.move(2), CUDA_ERROR_INVALID_DEVICE) << "as the driver says";
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
