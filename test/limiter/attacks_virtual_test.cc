// SPDX-License-Identifier: Apache-2.0
// Attacks by handles that are mapped and released at once.
#include <atomic>
#include <thread>

#include "limiter/attacks_memory_test.h"

namespace tessera::limiter {
namespace {

// Race: one thread maps the handle while another releases it. Once mapped, the memory stays on the
// card and must stay counted.
TEST_F(AttacksMemoryTest, AHandleThatIsMappedWhileItIsReleasedStaysCounted) {
  Run([&] {
    const CUdeviceptr address = Addresses(2 * kMiB);
    const CUmemAllocationProp wanted = PinnedIn(CU_MEM_LOCATION_TYPE_DEVICE);
    std::atomic<CUmemGenericAllocationHandle> offered{0};
    std::atomic<bool> is_mapped{false};
    int round = 0;
    Race(
        60'000,
        [&] {
          const CUmemGenericAllocationHandle handle = offered;
          if (handle == 0) return std::this_thread::yield();
          is_mapped = cuMemMap(address, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS;
          offered = 0;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_SUCCESS);
          offered = handle;
          for (volatile int wait = ++round % 256; wait > 0; wait = wait - 1) {
          }
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
          while (offered != 0) std::this_thread::yield();
          ExpectCounted();
          if (is_mapped) {
            ASSERT_EQ(cuMemUnmap(address, 2 * kMiB), CUDA_SUCCESS);
          }
          is_mapped = false;
        });
    ExpectTrue(0);
  });
}

// Race: one thread retains the handle by an address inside the mapping, while another unmaps it.
TEST_F(AttacksMemoryTest, AHandleThatIsRetainedWhileItIsUnmappedStaysCounted) {
  Run([&] {
    const CUdeviceptr address = Addresses(4 * kMiB);
    const CUmemAllocationProp wanted = PinnedIn(CU_MEM_LOCATION_TYPE_DEVICE);
    std::atomic<bool> is_offered{false};
    std::atomic<CUmemGenericAllocationHandle> retained{0};
    Race(
        20'000,
        [&] {
          if (!is_offered) return std::this_thread::yield();
          CUmemGenericAllocationHandle handle = 0;
          void* const inside = reinterpret_cast<void*>(address + 3 * kMiB);
          if (cuMemRetainAllocationHandle(&handle, inside) == CUDA_SUCCESS) retained = handle;
          is_offered = false;
        },
        [&] {
          CUmemGenericAllocationHandle handle = 0;
          ASSERT_EQ(cuMemCreate(&handle, 4 * kMiB, &wanted, 0), CUDA_SUCCESS);
          ASSERT_EQ(cuMemMap(address, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
          ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
          is_offered = true;
          ASSERT_EQ(cuMemUnmap(address, 4 * kMiB), CUDA_SUCCESS);
          while (is_offered) std::this_thread::yield();
          ExpectCounted();
          if (retained != 0) {
            ASSERT_EQ(cuMemRelease(retained), CUDA_SUCCESS);
          }
          retained = 0;
        });
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
