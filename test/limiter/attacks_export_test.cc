// SPDX-License-Identifier: Apache-2.0
// Ways in which programs could hold more of a GPU's memory than their limit by handing it on.
#include "limiter/exports_test.h"

namespace tessera::limiter {
namespace {

using AttacksExportTest = ExportsTest;

TEST_F(AttacksExportTest, WhatOnlyDescriptorsHaveStaysCounted) {
  Run([&] {
    std::vector<int> files;
    Handle handle = 0;
    while (files.size() < 40 && TryCreate(&handle, 100 * kMiB) == CUDA_SUCCESS) {
      files.push_back(Export(handle));
      ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    }
    EXPECT_EQ(files.size(), 10u);
    ExpectTrue(1000);
    // Memory that is imported again and released after its descriptor was closed is free.
    for (const int file : files) {
      handle = Import(file);
      close(file);
      ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    }
    ExpectTrue(0);
  });
}

TEST_F(AttacksExportTest, WhatIsMappedAndGoesWithADescriptorOpenStaysCounted) {
  Run([&] {
    for (int i = 0; i < 10; ++i) {
      const Handle handle = Create(100 * kMiB);
      Export(handle);
      ASSERT_EQ(cuMemUnmap(Map(handle, 100 * kMiB), 100 * kMiB), CUDA_SUCCESS);
    }
    Handle handle = 0;
    EXPECT_EQ(TryCreate(&handle, 100 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(1000);
  });
}

// The maker belongs to another container, or is gone.
TEST_F(AttacksExportTest, WhatIsImportedAndMappedIntoAnArrayAloneIsCounted) {
  const Peer peer;
  const pid_t other = node_.Start([&](const fake_cuda::Library& library) {
    library_ = &library;
    CUcontext context = nullptr;
    ASSERT_EQ(library.As<decltype(cuInit)>("cuInit")(0), CUDA_SUCCESS);
    ASSERT_EQ(
        library.As<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0),
        CUDA_SUCCESS);
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = kFile;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    wanted.allocFlags.usage = 1;
    for (int i = 0; i < 3; ++i) {
      Handle handle = 0;
      int file = -1;
      ASSERT_EQ(library.As<decltype(cuMemCreate)>("cuMemCreate")(&handle, 400 * kMiB, &wanted, 0),
                CUDA_SUCCESS);
      ASSERT_EQ(library.As<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle")(
                    &file, handle, kFile, 0),
                CUDA_SUCCESS);
      peer.SendFile(file, kThere);
    }
    peer.Receive<char>(kThere);
  });
  Run([&] {
    const CUDA_ARRAY3D_DESCRIPTOR wanted{.Width = 16384,
                                         .Height = 16384,
                                         .Depth = 0,
                                         .Format = CU_AD_FORMAT_FLOAT,
                                         .NumChannels = 1,
                                         .Flags = CUDA_ARRAY3D_SPARSE};
    CUarray arrays[3] = {};
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_EQ(cuArray3DCreate_v2(&arrays[i], &wanted), CUDA_SUCCESS);
      CUarrayMapInfo part{};
      part.resource = arrays[i];
      part.subresource.sparseLevel = {0, 0, 0, 0, 0, 16384, 50 * 128, 1};
      part.memOperationType = 1;
      part.memHandle = Import(peer.ReceiveFile(kHere));
      part.deviceBitMask = 1;
      part.resourceType = 7;
      EXPECT_EQ(cuMemMapArrayAsync(&part, 1, nullptr), CUDA_ERROR_OUT_OF_MEMORY) << "who knows";
      part.resourceType = 0;
      EXPECT_EQ(cuMemMapArrayAsync(&part, 1, nullptr),
                i < 2 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(cuMemRelease(part.memHandle), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), (i == 0 ? 400 : 800) * kMiB);
    }
    for (const CUarray array : arrays) EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 0u);
    peer.Send('e', kHere);
  });
  ExpectEnd(other);
}

TEST_F(AttacksExportTest, SeveralUnmappedAtOnceAreEachWhatTheyAre) {
  Run([&] {
    const CUdeviceptr address = Addresses(300 * kMiB);
    for (int i = 0; i < 3; ++i) {
      const Handle handle = Create(100 * kMiB);
      if (i > 0) {
        const int file = Export(handle);
        if (i == 1) close(file);
      }
      ASSERT_EQ(cuMemMap(address + static_cast<uint64_t>(i) * 100 * kMiB, 100 * kMiB, 0, handle, 0),
                CUDA_SUCCESS);
      ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuMemUnmap(address, 300 * kMiB), CUDA_SUCCESS);
    ExpectTrue(100);
  });
}

TEST_F(AttacksExportTest, AThreadWithoutAContextGivesNothingUpUnseen) {
  Run([&] {
    const Handle kept = Create(100 * kMiB), closed = Create(200 * kMiB);
    Export(kept);
    close(Export(closed));
    ASSERT_EQ(cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(kept), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(closed), CUDA_SUCCESS);
    ExpectTrue(100);
  });
}

TEST_F(AttacksExportTest, WhatOthersOpenedStaysCountedWhoeverFreesIt) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    for (int i = 0; i < 3; ++i) {
      Open(peer.Receive<CUipcMemHandle>(kThere));
      peer.Send('o', kThere);
    }
    for (;;) pause();
  });
  Run([&] {
    for (int i = 0; i < 3; ++i) {
      const CUdeviceptr block = Allocate(300 * kMiB);
      peer.Send(HandleOf(block), kHere);
      peer.Receive<char>(kHere);
      ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    }
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 300 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(900);
    kill(other, SIGKILL);
  });
  ExpectEnd(other, SIGKILL);
}

TEST_F(AttacksExportTest, AContextThatEndsTakesNothingOpenOutOfTheAccounting) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    Open(peer.Receive<CUipcMemHandle>(kThere));
    peer.Send('o', kThere);
    for (;;) pause();
  });
  Run([&] {
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    Allocate(100 * kMiB);
    peer.Send(HandleOf(Allocate(300 * kMiB)), kHere);
    peer.Receive<char>(kHere);
    ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ExpectTrue(300);
    kill(other, SIGKILL);
  });
  ExpectEnd(other, SIGKILL);
}

// Memory of a dead process that only a descriptor kept is counted as soon as it can be used.
TEST_F(AttacksExportTest, WhatTheDeadLeftToADescriptorIsCountedForWhoMapsIt) {
  const Peer peers[2];
  std::vector<pid_t> makers;
  for (const Peer& peer : peers) {
    makers.push_back(StartPeer([&] {
      peer.Receive<char>(kThere);
      peer.SendFile(Export(Create(400 * kMiB)), kThere);
      for (;;) pause();
    }));
  }
  Run([&] {
    int mapped = 0;
    for (size_t i = 0; i < makers.size(); ++i) {
      peers[i].Send('g', kHere);
      const int file = peers[i].ReceiveFile(kHere);
      kill(makers[i], SIGKILL);
      while (Used(0) != static_cast<uint64_t>(mapped) * 400 * kMiB) ReapAll();
      const Handle handle = Import(file);
      close(file);
      if (cuMemMap(Addresses(400 * kMiB), 400 * kMiB, 0, handle, 0) == CUDA_SUCCESS) ++mapped;
      EXPECT_EQ(Used(0), static_cast<uint64_t>(mapped) * 400 * kMiB);
    }
    EXPECT_EQ(mapped, 2);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 400 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(800);
  });
  for (const pid_t maker : makers) ExpectEnd(maker, SIGKILL);
}

// Race: two processes unmap at once, and both see that the card has more free memory. Only one of
// them freed it, so it may be given back once.
TEST_F(AttacksExportTest, TwoThatGiveItBackAtOnceGiveItBackOnce) {
  constexpr int kRounds = 100;
  const Peer peers[2];
  std::vector<pid_t> others;
  for (const Peer& peer : peers) {
    others.push_back(StartPeer([&] {
      for (int round = 0; round < kRounds; ++round) {
        const int file = peer.ReceiveFile(kThere);
        const CUdeviceptr mapped = Map(Import(file), 100 * kMiB);
        close(file);
        peer.Send('m', kThere);
        peer.Receive<char>(kThere);
        ASSERT_EQ(cuMemUnmap(mapped, 100 * kMiB), CUDA_SUCCESS);
        peer.Send('u', kThere);
      }
      peer.Receive<char>(kThere);
    }));
  }
  Run([&] {
    const Handle kept = Create(300 * kMiB);
    Export(kept);
    ASSERT_EQ(cuMemRelease(kept), CUDA_SUCCESS);
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
      const Handle handle = Create(100 * kMiB);
      const int file = Export(handle);
      for (const Peer& peer : peers) peer.SendFile(file, kHere);
      close(file);
      for (const Peer& peer : peers) peer.Receive<char>(kHere);
      // In every second round the maker is among them.
      if (round % 2 == 0) {
        ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
      }
      for (const Peer& peer : peers) peer.Send('u', kHere);
      if (round % 2 != 0) {
        ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
      }
      for (const Peer& peer : peers) peer.Receive<char>(kHere);
      ExpectTrue(300);
    }
    // The peers live until here: a process that ended earlier could have freed the memory itself.
    for (const Peer& peer : peers) peer.Send('e', kHere);
  });
  for (const pid_t other : others) ExpectEnd(other);
}

TEST_F(AttacksExportTest, APieceOfAPoolThatAnotherProcessHasStaysCounted) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuMemPoolImportFromShareableHandle)>(
                  "cuMemPoolImportFromShareableHandle")(
                  &pool, reinterpret_cast<void*>(static_cast<intptr_t>(peer.ReceiveFile(kThere))),
                  kFile, 0),
              CUDA_SUCCESS);
    auto data = peer.Receive<CUmemPoolPtrExportData>(kThere);
    CUdeviceptr piece = 0;
    ASSERT_EQ(cuMemPoolImportPointer(&piece, pool, &data), CUDA_SUCCESS);
    peer.Send('i', kThere);
    peer.Receive<char>(kThere);
    ASSERT_EQ(cuMemFree_v2(piece), CUDA_SUCCESS);
    peer.Send('f', kThere);
  });
  Run([&] {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.handleTypes = kFile;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuMemPoolCreate)>("cuMemPoolCreate")(&pool, &wanted),
              CUDA_SUCCESS);
    int file = -1;
    using Share = CUresult(void*, CUmemoryPool, CUmemAllocationHandleType, unsigned long long);
    ASSERT_EQ(cuda().As<Share>("cuMemPoolExportToShareableHandle")(&file, pool, kFile, 0),
              CUDA_SUCCESS);
    CUdeviceptr piece = 0;
    ASSERT_EQ(cuMemAllocFromPoolAsync(&piece, 480 * kMiB, pool, nullptr), CUDA_SUCCESS);
    CUmemPoolPtrExportData data{};
    ASSERT_EQ(cuMemPoolExportPointer(&data, piece), CUDA_SUCCESS);
    peer.SendFile(file, kHere);
    peer.Send(data, kHere);
    peer.Receive<char>(kHere);
    ExpectTrue(480);
    ASSERT_EQ(cuMemFree_v2(piece), CUDA_SUCCESS);
    ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    ExpectTrue(480);
    peer.Send('f', kHere);
    peer.Receive<char>(kHere);
    ExpectTrue(0);
  });
  ExpectEnd(other);
}

}  // namespace
}  // namespace tessera::limiter
