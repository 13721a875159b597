// SPDX-License-Identifier: Apache-2.0
// Memory that another interface such as Vulkan made and CUDA imports. The card holds it in any
// case. It is counted for the importing process as long as it is imported.
#include "cuda/truth.h"
#include "limiter/exports_test.h"

namespace tessera::limiter {
namespace {

class ExternalTest : public ExportsTest {
 protected:
  // Makes memory as Vulkan does, and hands out its descriptor.
  int Make(uint64_t bytes) {
    const int file = library_->As<decltype(fakecuda_export)>("fakecuda_export")(kUuid, bytes);
    EXPECT_GE(file, 0);
    return file;
  }
  static CUDA_EXTERNAL_MEMORY_HANDLE_DESC What(int file, uint64_t bytes) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC what{};
    what.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    what.handle.fd = file;
    what.size = bytes;
    return what;
  }
  static CUexternalMemory Import(int file, uint64_t bytes, CUresult expected = CUDA_SUCCESS) {
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC what = What(file, bytes);
    CUexternalMemory memory = nullptr;
    EXPECT_EQ(cuImportExternalMemory(&memory, &what), expected);
    return memory;
  }
  CUdeviceptr MapBuffer(CUexternalMemory memory, uint64_t bytes) {
    using Signature =
        CUresult(CUdeviceptr*, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC what{};
    what.size = bytes;
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuda().As<Signature>("cuExternalMemoryGetMappedBuffer")(&pointer, memory, &what),
              CUDA_SUCCESS);
    return pointer;
  }
};

TEST_F(ExternalTest, WhatIsImportedIsCountedUntilItIsDestroyed) {
  Run([&] {
    const CUexternalMemory memory = Import(Make(301 * kMiB), 301 * kMiB);
    ExpectTrue(301);
    EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
    ExpectTrue(0);
  });
}

TEST_F(ExternalTest, PastTheLimitNothingIsImportedAndTheDescriptorStaysTheProgramsOwn) {
  Run([&] {
    const CUdeviceptr pointer = Allocate(800 * kMiB);
    const int file = Make(300 * kMiB);
    Import(file, 300 * kMiB, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Used(0), 800 * kMiB);
    EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
    Import(file, 300 * kMiB);
    ExpectTrue(300);
    CUdeviceptr other = 0;
    EXPECT_EQ(cuMemAlloc_v2(&other, 800 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(ExternalTest, WhatIsMappedOfItTakesNoMoreAndGivesNothingBack) {
  Run([&] {
    const CUexternalMemory memory = Import(Make(300 * kMiB), 300 * kMiB);
    const CUdeviceptr buffers[] = {MapBuffer(memory, 300 * kMiB), MapBuffer(memory, 100 * kMiB)};
    ExpectTrue(300);
    EXPECT_EQ(cuMemFree_v2(buffers[0]), CUDA_SUCCESS);
    ExpectTrue(300);
    EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(buffers[1]), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ExternalTest, ItEndsWithItsContext) {
  Run([&] {
    CUcontext own = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&own, 0), CUDA_SUCCESS);
    Import(Make(300 * kMiB), 300 * kMiB);
    ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
    Import(Make(200 * kMiB), 200 * kMiB);
    ExpectTrue(500);
    ASSERT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    ExpectTrue(300);
    ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(ExternalTest, WhatTheDriverRefusesIsNotCounted) {
  Run([&] {
    const int file = Make(100 * kMiB);
    Import(file, 200 * kMiB, CUDA_ERROR_INVALID_VALUE);
    Import(file, 0, CUDA_ERROR_INVALID_VALUE);
    Import(-1, 100 * kMiB, CUDA_ERROR_INVALID_VALUE);
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC what = What(file, 100 * kMiB);
    CUexternalMemory memory = nullptr;
    EXPECT_EQ(cuImportExternalMemory(nullptr, &what), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuImportExternalMemory(&memory, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(ExternalTest, ADmaBufIsTheHostsAndNotCounted) {
  Run([&] {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC what = What(dup(0), 2048 * kMiB);
    what.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD;
    CUexternalMemory memory = nullptr;
    ASSERT_EQ(cuImportExternalMemory(&memory, &what), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

// The driver tells no caller whose memory a descriptor is of.
TEST_F(ExternalTest, WhatIsImportedPaysOffNothingThatIsLent) {
  const Peer peer;
  const pid_t maker = StartPeer([&] {
    const CUdeviceptr block = Allocate(300 * kMiB);
    peer.Send(HandleOf(block), kThere);
    peer.Receive<char>(kThere);
    EXPECT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    peer.Send('f', kThere);
    peer.Receive<char>(kThere);
  });
  Run([&] {
    const CUdeviceptr opened = Open(peer.Receive<CUipcMemHandle>(kHere));
    peer.Send('o', kHere);
    peer.Receive<char>(kHere);
    HandleOf(Allocate(300 * kMiB));
    ExpectTrue(600);
    const CUexternalMemory memory = Import(Make(300 * kMiB), 300 * kMiB);
    ExpectTrue(900);
    EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_SUCCESS);
    ExpectTrue(600);
    EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
    ExpectTrue(300);
    peer.Send('e', kHere);
  });
  ExpectEnd(maker);
}

// The imported bytes are counted in a word that such sizes would overflow.
TEST_F(ExternalTest, SizesBeyondAllMemoryDoNotMakeForgetWhatIsImported) {
  const Peer peer;
  const pid_t maker = StartPeer([&] {
    const CUdeviceptr block = Allocate(600 * kMiB);
    peer.Send(HandleOf(block), kThere);
    const int file = ExternalTest::Export(Create(2 * kMiB));
    peer.SendFile(file, kThere);
    peer.Receive<char>(kThere);
    EXPECT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    peer.Send('f', kThere);
    peer.Receive<char>(kThere);
  });
  Run([&] {
    Open(peer.Receive<CUipcMemHandle>(kHere));
    const Handle handle = ExportsTest::Import(peer.ReceiveFile(kHere));
    peer.Send('o', kHere);
    peer.Receive<char>(kHere);
    ExpectTrue(602);
    constexpr uint64_t kHuge = UINT64_MAX - 2 * kMiB + 1;
    Import(-1, kHuge, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemMap(Addresses(2 * kMiB), kHuge, 0, handle, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CUdeviceptr pointer = 0;
    EXPECT_NE(cuIpcOpenMemHandle_v2(&pointer, {}, 1), CUDA_SUCCESS);
    ExpectTrue(602);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 500 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    peer.Send('e', kHere);
  });
  ExpectEnd(maker);
}

TEST_F(ExternalTest, AKilledProcessImportedNothing) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    Import(Make(300 * kMiB), 300 * kMiB);
    peer.Send('i', kThere);
    for (;;) pause();
  });
  Run([&] {
    peer.Receive<char>(kHere);
    ExpectTrue(300);
    kill(other, SIGKILL);
    while (Used(0) != 0) ReapAll();
  });
  ExpectEnd(other, SIGKILL);
}

}  // namespace
}  // namespace tessera::limiter
