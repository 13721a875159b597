// SPDX-License-Identifier: Apache-2.0
// Ways in which a program could hold more memory than its limit: those that the limiter refuses
// over the simulated card (test/limiter/attacks_*). The races are in races.cc.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "card/probes/bounds.h"
#include "card/probes/helpers.h"
#include "card/probes/peer.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

constexpr uint64_t kPiece = 256 * kMiB;
constexpr unsigned kLate = 300'000;  // us in which a killed process's memory is the card's again
constexpr int kTooMany = kLimit / kPiece + 2;

// What an attack leaves is gone with these, and with the process at the latest.
std::vector<int> files;
std::vector<CUmemGenericAllocationHandle> handles;
std::vector<CUdeviceptr> blocks;
std::vector<std::unique_ptr<Peer>> peers;

void* AsPointer(int number) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(number));
}

void CleanUp() {
  peers.clear();
  for (const int file : files) {
    CUmemGenericAllocationHandle handle = 0;
    if (CU(cuMemImportFromShareableHandle)(
            &handle, AsPointer(file), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS) {
      handles.push_back(handle);
    }
    close(file);
  }
  for (const CUmemGenericAllocationHandle handle : handles) CU(cuMemRelease)(handle);
  for (const CUdeviceptr block : blocks) CU(cuMemFree_v2)(block);
  Synchronize();
  files.clear();
  handles.clear();
  blocks.clear();
}

// A handle that a descriptor has as well.
CUresult Create(CUmemGenericAllocationHandle* handle, uint64_t bytes) {
  const CUresult result = NewShareable(handle, bytes);
  if (result == CUDA_SUCCESS) files.push_back(Export(*handle));
  return result;
}

CUresult Allocate(uint64_t bytes) {
  CUdeviceptr block = 0;
  const CUresult result = CU(cuMemAlloc_v2)(&block, bytes);
  if (result == CUDA_SUCCESS) blocks.push_back(block);
  return result;
}

CUresult OnlyDescriptors(uint64_t) {
  Bounds bounds;
  CUmemGenericAllocationHandle handle = 0;
  while (files.size() < kTooMany && Create(&handle, kPiece) == CUDA_SUCCESS) {
    CU(cuMemRelease)(handle);
    bounds.Look();
  }
  return bounds.End(files.size() < kTooMany);
}

CUresult MappedAndLetGo(uint64_t) {
  Bounds bounds;
  CUmemGenericAllocationHandle handle = 0;
  while (files.size() < kTooMany && Create(&handle, kPiece) == CUDA_SUCCESS) {
    const CUdeviceptr address = Map(handle, kPiece);
    CU(cuMemRelease)(handle);
    Unmap(address, kPiece);
    bounds.Look();
  }
  return bounds.End(files.size() < kTooMany);
}

CUresult SeveralUnmappedAtOnce(uint64_t) {
  Bounds bounds;
  CUdeviceptr address = 0;
  FirstFailure done;
  done << CU_AS(cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)(
      &address, 3 * kPiece, 0, 0, 0);
  for (unsigned i = 0; i < 3 && done.result == CUDA_SUCCESS; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    done << (i == 1 ? Create(&handle, kPiece) : NewShareable(&handle, kPiece));
    done << CU(cuMemMap)(address + i * kPiece, kPiece, 0, handle, 0) << CU(cuMemRelease)(handle);
  }
  done << Unmap(address, 3 * kPiece);
  return bounds.End(done.result == CUDA_SUCCESS);
}

CUresult WithoutAContext(uint64_t) {
  Bounds bounds;
  CUcontext context = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  FirstFailure done;
  done << Create(&handle, kPiece) << CU(cuCtxGetCurrent)(&context) << CU(cuCtxSetCurrent)(nullptr)
       << CU(cuMemRelease)(handle) << CU(cuCtxSetCurrent)(context);
  return bounds.End(done.result == CUDA_SUCCESS);
}

// A peer that has a context.
Peer& NewPeer() {
  peers.push_back(std::make_unique<Peer>());
  Message message{.order = Order::kAllocate, .bytes = kMiB};
  peers.back()->Do(message);
  return *peers.back();
}

CUresult OpenThere(Peer& peer, CUdeviceptr block) {
  CUipcMemHandle handle{};
  Message message{};
  message.order = Order::kOpenIpc;
  FirstFailure done;
  done << CU(cuIpcGetMemHandle)(&handle, block);
  std::memcpy(message.data, &handle, sizeof handle);
  done << peer.Do(message);
  return done.result;
}

CUresult OpenedByOthers(uint64_t) {
  Peer& peer = NewPeer();
  Bounds bounds;
  int pieces = 0;
  for (CUdeviceptr block = 0; pieces < kTooMany; ++pieces) {
    if (CU(cuMemAlloc_v2)(&block, kPiece) != CUDA_SUCCESS) break;
    const CUresult opened = OpenThere(peer, block);
    CU(cuMemFree_v2)(block);
    bounds.Look();
    if (opened != CUDA_SUCCESS) return opened;
  }
  return bounds.End(pieces < kTooMany);
}

CUresult OfAContextThatEnds(uint64_t) {
  Peer& peer = NewPeer();
  Bounds bounds;
  CUcontext context = nullptr;
  CUdeviceptr block = 0;
  FirstFailure done;
  done << CU(cuCtxCreate_v2)(&context, 0, 0) << CU(cuMemAlloc_v2)(&block, kPiece);
  done << OpenThere(peer, block);
  bounds.Look();
  done << CU(cuCtxDestroy_v2)(context);
  bounds.End(true);
  return done.result;
}

CUresult LeftByTheDead(uint64_t) {
  Bounds bounds;
  Peer& peer = NewPeer();
  Message message{.order = Order::kCreate, .bytes = kPiece};
  int file = -1;
  FirstFailure done;
  done << peer.Do(message, &file);
  kill(peer.pid(), SIGKILL);
  CUmemGenericAllocationHandle handle = 0;
  done << CU(cuMemImportFromShareableHandle)(&handle, AsPointer(file),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(file);
  if (done.result != CUDA_SUCCESS) return done.result;
  const CUdeviceptr address = Map(handle, kPiece);
  CU(cuMemRelease)(handle);
  peers.clear();
  usleep(kLate);
  Settle();
  bounds.End(address != 0);
  Unmap(address, kPiece);
  return CUDA_SUCCESS;
}

// Both see the card have more room, and one of them alone made it.
CUresult GivenBackAtOnce(uint64_t) {
  Peer* const two[] = {&NewPeer(), &NewPeer()};
  Bounds bounds;
  for (int round = 0; round < 20; ++round) {
    CUmemGenericAllocationHandle handle = 0;
    const CUresult made = NewShareable(&handle, kPiece);
    if (made != CUDA_SUCCESS) return made;
    const int file = Export(handle);
    Message messages[2] = {};
    for (int i = 0; i < 2; ++i) {
      messages[i].order = Order::kMap;
      messages[i].bytes = kPiece;
      int given = file;
      two[i]->Do(messages[i], &given);
      messages[i].order = Order::kUnmap;
    }
    close(file);
    CU(cuMemRelease)(handle);
    for (int i = 0; i < 2; ++i) two[i]->Tell(messages[i]);
    for (int i = 0; i < 2; ++i) two[i]->Hear(messages[i]);
    bounds.Look();
  }
  return bounds.End(true);
}

CUresult KilledAMomentAgo(uint64_t) {
  Bounds bounds;
  Peer& peer = NewPeer();
  Message message{.order = Order::kAllocate, .bytes = kLimit / 2};
  const CUresult taken = peer.Do(message);
  kill(peer.pid(), SIGKILL);
  CUresult mine = CUDA_ERROR_OUT_OF_MEMORY;
  int tries = 0;
  for (; tries < 500 && mine != CUDA_SUCCESS; ++tries) {
    mine = Allocate(kLimit / 2);
    if (mine != CUDA_SUCCESS) usleep(1'000);
  }
  Note("there was room after " + std::to_string(tries) + " tries");
  usleep(kLate);
  Settle();
  bounds.End(mine == CUDA_SUCCESS);
  return taken;
}

CUresult DestroyedPools(uint64_t) {
  Bounds bounds;
  const CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
  CUresult refused = CUDA_SUCCESS;
  for (int round = 0; round < 12 && refused == CUDA_SUCCESS; ++round) {
    CUmemoryPool pool = nullptr;
    const CUresult made = CU(cuMemPoolCreate)(&pool, &wanted);
    if (made != CUDA_SUCCESS) return made;
    std::vector<CUdeviceptr> rest;
    // Two of each segment, of which one stays.
    for (int i = 0; i < 16 && refused == CUDA_SUCCESS; ++i) {
      CUdeviceptr small = 0, large = 0;
      refused = CU(cuMemAllocFromPoolAsync)(&small, 512, pool, nullptr);
      if (refused == CUDA_SUCCESS) blocks.push_back(small);
      if (refused == CUDA_SUCCESS) {
        refused = CU(cuMemAllocFromPoolAsync)(&large, 32 * kMiB - 512, pool, nullptr);
      }
      if (refused == CUDA_SUCCESS) rest.push_back(large);
    }
    for (const CUdeviceptr piece : rest) CU(cuMemFreeAsync)(piece, nullptr);
    Synchronize();
    CU(cuMemPoolDestroy)(pool);
    bounds.Look();
  }
  return bounds.End(true);
}

// Its memory is the card's again while the library has it still.
CUresult KilledWhileCodeIsLoaded(uint64_t) {
  Bounds bounds;
  Peer& peer = NewPeer();
  Message message{.order = Order::kAllocate, .bytes = kLimit / 3};
  FirstFailure done;
  done << peer.Do(message);
  const std::string path = PtxFile(kLimit / 3), text = Ptx(kLimit / 3);
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) return CUDA_ERROR_UNKNOWN;
  signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over) {
      const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      kill(peer.pid(), SIGKILL);
      usleep(kLate);
      if (file >= 0 && write(file, text.data(), text.size()) < 0) usleep(1'000);
      close(file);
      usleep(50'000);  // or the reader finds it open again, and no end
    }
  });
  CUmodule module = nullptr;
  Say("loaded " + std::to_string(CU(cuModuleLoad)(&module, path.c_str())));
  is_over = true;
  const int unblocked = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  close(unblocked);
  unlink(path.c_str());
  while (Allocate(kPiece) == CUDA_SUCCESS) bounds.Look();
  bounds.End(done.result == CUDA_SUCCESS);
  return done.result;
}

// The card had it before: it is counted for who maps it.
CUresult MadeOutsideTheContainer(uint64_t) {
  Peer maker(true);
  const uint64_t before = Measure().counted;
  uint64_t mapped = 0;
  for (unsigned i = 0; i < kTooMany; ++i) {
    Message message{.order = Order::kCreate, .bytes = kPiece};
    int file = -1;
    const CUresult made = maker.Do(message, &file);
    if (made != CUDA_SUCCESS) return made;
    CUmemGenericAllocationHandle handle = 0;
    const CUresult imported = CU(cuMemImportFromShareableHandle)(
        &handle, AsPointer(file), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(file);
    if (imported != CUDA_SUCCESS) break;
    if (Map(handle, kPiece) != 0) mapped += kPiece;
    CU(cuMemRelease)(handle);
  }
  Say(before + mapped > kLimit ? "ESCAPED" : "held");
  Note("mapped " + std::to_string(mapped));
  return CUDA_SUCCESS;
}

constexpr Step kSteps[] = {
    {"", OnlyDescriptors, CleanUp, "only descriptors have it", true},
    {"", MappedAndLetGo, CleanUp, "mapped, unmapped, a descriptor open", true},
    {"", SeveralUnmappedAtOnce, CleanUp, "several unmapped at once", true},
    {"", WithoutAContext, CleanUp, "released by a thread without a context", true},
    {"", OpenedByOthers, CleanUp, "opened by another process, then freed", true},
    {"", OfAContextThatEnds, CleanUp, "opened by another process, its context destroyed", true},
    {"", LeftByTheDead, CleanUp, "left to a descriptor by a killed process", true},
    {"", GivenBackAtOnce, CleanUp, "given back by two at once", true},
    {"", KilledAMomentAgo, CleanUp, "of a process killed a moment ago", true},
    {"", KilledWhileCodeIsLoaded, CleanUp, "of a process killed while code is loaded", true},
    {"", MadeOutsideTheContainer, CleanUp, "made outside the container, mapped", true},
    {"", DestroyedPools, CleanUp, "pools destroyed with pieces in use", true},
};

}  // namespace

std::span<const Step> AttackSteps() {
  return kSteps;
}

}  // namespace tessera::card
