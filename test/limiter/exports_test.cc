// SPDX-License-Identifier: Apache-2.0
// Programs that hand memory to each other as frameworks do. It is counted once, as long as a
// process has it.
#include "limiter/exports_test.h"
#include "limiter/log/said_test.h"
#include "limiter/memory/chunks.h"

namespace tessera::limiter {
namespace {

// As NCCL does: each side maps the other one's memory, and they end in any order.
TEST_F(ExportsTest, BuffersOfTwoRanksAreCountedOnceAndAreGoneAfterThem) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    for (int round = 0; round < 20; ++round) {
      const CUdeviceptr own = Map(Create(64 * kMiB), 64 * kMiB);
      Handle again = 0;
      ASSERT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(own)), CUDA_SUCCESS);
      const int file = Export(again);
      ASSERT_EQ(cuMemRelease(again), CUDA_SUCCESS);
      peer.SendFile(file, kThere);
      close(file);
      const int theirs = peer.ReceiveFile(kThere);
      const CUdeviceptr mapped = Map(Import(theirs), 32 * kMiB);
      close(theirs);
      peer.Send('m', kThere);
      peer.Receive<char>(kThere);
      for (const bool is_own : {round % 2 == 0, round % 2 != 0}) {
        ASSERT_EQ(cuMemUnmap(is_own ? own : mapped, (is_own ? 64 : 32) * kMiB), CUDA_SUCCESS);
      }
      peer.Send('f', kThere);
      peer.Receive<char>(kThere);
    }
  });
  Run([&] {
    for (int round = 0; round < 20; ++round) {
      const CUdeviceptr own = Map(Create(32 * kMiB), 32 * kMiB);
      Handle again = 0;
      ASSERT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(own)), CUDA_SUCCESS);
      const int file = Export(again);
      ASSERT_EQ(cuMemRelease(again), CUDA_SUCCESS);
      peer.SendFile(file, kHere);
      close(file);
      const int theirs = peer.ReceiveFile(kHere);
      const CUdeviceptr mapped = Map(Import(theirs), 64 * kMiB);
      close(theirs);
      peer.Receive<char>(kHere);
      ExpectTrue(96);
      peer.Send('e', kHere);
      for (const bool is_own : {round % 3 == 0, round % 3 != 0}) {
        ASSERT_EQ(cuMemUnmap(is_own ? own : mapped, (is_own ? 32 : 64) * kMiB), CUDA_SUCCESS);
      }
      peer.Receive<char>(kHere);
      ExpectTrue(0);
      peer.Send('n', kHere);
    }
  });
  ExpectEnd(other);
}

TEST_F(ExportsTest, ABlockThatIsOpenInAContextThatEndsIsGoneWithIt) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    for (int round = 0; round < 20; ++round) {
      peer.Receive<char>(kThere);
      CUcontext context = nullptr;
      ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
      peer.Send('c', kThere);
      const CUdeviceptr opened = Open(peer.Receive<CUipcMemHandle>(kThere));
      EXPECT_EQ(Open(peer.Receive<CUipcMemHandle>(kThere)), opened);
      peer.Send('o', kThere);
      peer.Receive<char>(kThere);
      ASSERT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
      peer.Send('d', kThere);
    }
    peer.Receive<char>(kThere);
  });
  Run([&] {
    for (int round = 0; round < 20; ++round) {
      // Memory that is taken while a context is made would be counted for the context.
      peer.Send('c', kHere);
      peer.Receive<char>(kHere);
      const CUdeviceptr block = Allocate(600 * kMiB);
      for (int time = 0; time < 2; ++time) peer.Send(HandleOf(block), kHere);
      peer.Receive<char>(kHere);
      const bool is_freed_before = round % 2 != 0;
      if (is_freed_before) {
        ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
      }
      ExpectTrue(600);
      peer.Send('d', kHere);
      peer.Receive<char>(kHere);
      if (!is_freed_before) {
        ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
      }
      ExpectTrue(0);
    }
    peer.Send('e', kHere);
  });
  ExpectEnd(other);
}

// The limiter cannot tell a chunk that others keep from one that small blocks keep, so it stays
// counted.
TEST_F(ExportsTest, AChunkOfSmallBlocksThatOneWasHandedOnOfStaysCounted) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    EXPECT_NE(Open(peer.Receive<CUipcMemHandle>(kThere)), 0u);
    peer.Send('o', kThere);
    peer.Receive<char>(kThere);
  });
  Run([&] {
    const CUdeviceptr blocks[2] = {Allocate(4096), Allocate(4096)};
    ExpectTrue(2);
    peer.Send(HandleOf(blocks[0]), kHere);
    peer.Receive<char>(kHere);
    HandleOf(blocks[0]);
    for (const CUdeviceptr block : blocks) ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), kChunk);
    const CUdeviceptr other = Allocate(4096);
    EXPECT_EQ(Used(0), 2 * kChunk) << "another chunk, wherever it is";
    ASSERT_EQ(cuMemFree_v2(other), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), kChunk);
    peer.Send('n', kHere);
  });
  ExpectEnd(other);
}

// As PyTorch does: consumers open a large block and close it, then it is freed.
TEST_F(ExportsTest, ABlockThatSeveralOpenIsCountedOnceAndIsGoneAfterItsMakerFreedIt) {
  const Peer peers[2];
  std::vector<pid_t> others;
  for (const Peer& peer : peers) {
    others.push_back(StartPeer([&] {
      for (int round = 0; round < 20; ++round) {
        const auto handle = peer.Receive<CUipcMemHandle>(kThere);
        const CUdeviceptr opened = Open(handle);
        EXPECT_EQ(Open(handle), opened);
        peer.Send('o', kThere);
        peer.Receive<char>(kThere);
        EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
        EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
        peer.Send('c', kThere);
      }
    }));
  }
  Run([&] {
    for (int round = 0; round < 20; ++round) {
      const CUdeviceptr block = Allocate(600 * kMiB);
      const CUipcMemHandle handle = HandleOf(block);
      for (const Peer& peer : peers) peer.Send(handle, kHere);
      for (const Peer& peer : peers) peer.Receive<char>(kHere);
      ExpectTrue(600);
      for (const Peer& peer : peers) peer.Send('c', kHere);
      for (const Peer& peer : peers) peer.Receive<char>(kHere);
      ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
      ExpectTrue(0);
    }
  });
  for (const pid_t other : others) ExpectEnd(other);
}

TEST_F(ExportsTest, ABlockThatIsFreedWhileItIsOpenElsewhereIsGoneOnceItIsClosed) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    for (int round = 0; round < 20; ++round) {
      const CUdeviceptr opened = Open(peer.Receive<CUipcMemHandle>(kThere));
      peer.Send('o', kThere);
      peer.Receive<char>(kThere);
      EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
      peer.Send('c', kThere);
    }
  });
  Run([&] {
    for (int round = 0; round < 20; ++round) {
      const CUdeviceptr block = Allocate(600 * kMiB);
      const CUdeviceptr closed = Allocate(200 * kMiB);
      HandleOf(closed);
      peer.Send(HandleOf(block), kHere);
      peer.Receive<char>(kHere);
      ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
      ExpectTrue(800);
      ASSERT_EQ(cuMemFree_v2(closed), CUDA_SUCCESS);
      ExpectTrue(600);
      CUdeviceptr pointer = 0;
      EXPECT_EQ(cuMemAlloc_v2(&pointer, 500 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
      peer.Send('c', kHere);
      peer.Receive<char>(kHere);
      ExpectTrue(0);
    }
  });
  ExpectEnd(other);
}

TEST_F(ExportsTest, WhatADeadProcessExportedIsCountedAsLongAsAnotherOneHasIt) {
  const Peer peer;
  const pid_t maker = StartPeer([&] {
    Allocate(100 * kMiB);
    Export(Create(50 * kMiB));
    peer.Send(HandleOf(Allocate(300 * kMiB)), kThere);
    for (;;) pause();
  });
  Run([&] {
    const CUdeviceptr opened = Open(peer.Receive<CUipcMemHandle>(kHere));
    ExpectTrue(450);
    kill(maker, SIGKILL);
    while (Used(0) == 450 * kMiB) ReapAll();
    while (Resident() != 300 * kMiB) {
    }
    ExpectTrue(300);
    EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
    ExpectTrue(0);
  });
  ExpectEnd(maker, SIGKILL);
}

TEST_F(ExportsTest, WhatADeadProcessExportedAndNobodyHasIsFree) {
  const Peer peer;
  const pid_t maker = StartPeer([&] {
    HandleOf(Allocate(300 * kMiB));
    const Handle handle = Create(300 * kMiB);
    close(Export(handle));
    peer.Send('x', kThere);
    for (;;) pause();
  });
  Run([&] {
    peer.Receive<char>(kHere);
    ExpectTrue(600);
    kill(maker, SIGKILL);
    while (Used(0) != 0) ReapAll();
  });
  ExpectEnd(maker, SIGKILL);
}

TEST_F(ExportsTest, WhatWasLentIsFreeOnceWhoHadItIsDead) {
  const Peer peer;
  const pid_t other = StartPeer([&] {
    Open(peer.Receive<CUipcMemHandle>(kThere));
    peer.Send('o', kThere);
    for (;;) pause();
  });
  Run([&] {
    const CUdeviceptr block = Allocate(600 * kMiB);
    peer.Send(HandleOf(block), kHere);
    peer.Receive<char>(kHere);
    ASSERT_EQ(cuMemFree_v2(block), CUDA_SUCCESS);
    ExpectTrue(600);
    kill(other, SIGKILL);
    while (Used(0) != 0) ReapAll();
  });
  ExpectEnd(other, SIGKILL);
}

// The maker uses another region, as a process of another container does.
TEST_F(ExportsTest, WhatNobodyOfTheContainerMadeIsCountedForWhoImportsIt) {
  limits_.log_level = 3;
  const Peer peer;
  const pid_t maker = node_.Start([&](const fake_cuda::Library& cuda) {
    library_ = &cuda;
    std::strcpy(limits_.region, (node_.directory() + "/other.cache").c_str());
    Prepare(cuda);
    peer.Send(HandleOf(Allocate(300 * kMiB)), kThere);
    for (const uint64_t mib : {200, 800}) peer.SendFile(Export(Create(mib * kMiB / 2)), kThere);
    for (;;) pause();
  });
  Run([&] {
    const CUdeviceptr opened = Open(peer.Receive<CUipcMemHandle>(kHere));
    EXPECT_EQ(Used(0), 300 * kMiB);
    const CUdeviceptr mapped = Map(Import(peer.ReceiveFile(kHere)), 100 * kMiB);
    EXPECT_EQ(Used(0), 400 * kMiB);
    const Handle large = Import(peer.ReceiveFile(kHere));
    Allocate(400 * kMiB);
    const CUdeviceptr addresses = Addresses(400 * kMiB);
    EXPECT_EQ(Said([&] {
                EXPECT_EQ(cuMemMap(addresses, 400 * kMiB, 0, large, 0), CUDA_ERROR_OUT_OF_MEMORY);
              }),
              "denied: 419430400 bytes of " + std::string(kUuid) +
                  "; 838860800 of 1073741824 are held\n");
    EXPECT_EQ(cuMemRelease(large), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 800 * kMiB);
    EXPECT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
    EXPECT_EQ(cuMemUnmap(mapped, 100 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 400 * kMiB);
    kill(maker, SIGKILL);
  });
  ExpectEnd(maker, SIGKILL);
}

}  // namespace
}  // namespace tessera::limiter
