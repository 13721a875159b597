// SPDX-License-Identifier: Apache-2.0
// Attacks by a thread that does something else all the time, for a while each.
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "card/probes/bounds.h"
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

constexpr long long kRaceMs = 300;
constexpr uint64_t kPiece = 256 * kMiB;

long long NowMs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000LL + time.tv_nsec / 1'000'000;
}

// Functions are looked up before, for that is of one thread.
template <typename Meanwhile, typename Round>
void Race(Meanwhile meanwhile, Round round) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) meanwhile();
  });
  for (const long long end = NowMs() + kRaceMs; NowMs() < end;) round();
  is_over = true;
  other.join();
}

CUresult AnswerWrittenOver(uint64_t) {
  Bounds bounds;
  const auto allocate = CU(cuMemAlloc_v2);
  const auto release = CU(cuMemFree_v2);
  CUdeviceptr held = 0;
  FirstFailure done;
  done << allocate(&held, kPiece);
  std::atomic<CUdeviceptr> answer{held}, stolen{0};
  Race(
      [&] {
        const CUdeviceptr seen = answer;
        if (seen == 0 || seen == held) return std::this_thread::yield();
        stolen = seen;
        answer = held;
      },
      [&] {
        answer = 0;
        if (allocate(reinterpret_cast<CUdeviceptr*>(&answer), 2 * kMiB) != CUDA_SUCCESS) {
          answer = held;
          return;
        }
        while (answer != held) std::this_thread::yield();
        release(stolen);
      });
  bounds.End(done.result == CUDA_SUCCESS);
  release(held);
  return done.result;
}

CUresult QuestionWrittenOver(uint64_t) {
  Bounds bounds;
  const auto create = CU(cuMemCreate);
  const auto release = CU(cuMemRelease);
  CUmemAllocationProp wanted = Pinned();
  volatile auto* const type = &wanted.location.type;
  std::vector<CUmemGenericAllocationHandle> handles;
  Race(
      [&] {
        *type = *type == CU_MEM_LOCATION_TYPE_DEVICE ? CU_MEM_LOCATION_TYPE_HOST
                                                     : CU_MEM_LOCATION_TYPE_DEVICE;
      },
      [&] {
        CUmemGenericAllocationHandle handle = 0;
        if (create(&handle, 2 * kMiB, &wanted, 0) == CUDA_SUCCESS) handles.push_back(handle);
        if (handles.size() < 256) return;
        bounds.Look();
        for (const CUmemGenericAllocationHandle one : handles) release(one);
        handles.clear();
      });
  bounds.Look();
  for (const CUmemGenericAllocationHandle one : handles) release(one);
  return bounds.End(true);
}

CUresult AllocatedWhileAContextEnds(uint64_t) {
  Bounds bounds;
  const auto allocate = CU(cuMemAlloc_v2);
  const auto release = CU(cuMemFree_v2);
  const auto use = CU(cuCtxSetCurrent);
  const auto create = CU(cuCtxCreate_v2);
  const auto destroy = CU(cuCtxDestroy_v2);
  CUcontext primary = nullptr;
  FirstFailure done;
  done << CU(cuCtxGetCurrent)(&primary);
  for (int round = 0; round < 3 && done.result == CUDA_SUCCESS; ++round) {
    CUcontext context = nullptr;
    CUdeviceptr block = 0;
    done << create(&context, 0, 0);
    if (done.result != CUDA_SUCCESS) break;
    for (int i = 0; i < 2'000; ++i) allocate(&block, 512);
    while (allocate(&block, kPiece) == CUDA_SUCCESS) continue;
    use(primary);
    std::vector<CUdeviceptr> got;
    std::atomic<bool> has_ended{false};
    std::thread other([&] {
      use(primary);
      while (!has_ended) {
        CUdeviceptr one = 0;
        if (allocate(&one, kPiece) == CUDA_SUCCESS) got.push_back(one);
      }
    });
    done << destroy(context);
    has_ended = true;
    other.join();
    bounds.Look();
    for (const CUdeviceptr one : got) release(one);
  }
  bounds.End(done.result == CUDA_SUCCESS);
  return done.result;
}

CUresult MappedWhileReleased(uint64_t) {
  Bounds bounds;
  const auto create = CU(cuMemCreate);
  const auto release = CU(cuMemRelease);
  const auto map = CU(cuMemMap);
  const auto unmap = CU(cuMemUnmap);
  const CUmemAllocationProp wanted = Pinned();
  CUdeviceptr address = 0;
  FirstFailure done;
  done << CU_AS(cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)(
      &address, 2 * kMiB, 0, 0, 0);
  std::atomic<CUmemGenericAllocationHandle> offered{0};
  std::atomic<bool> is_mapped{false};
  int round = 0;
  Race(
      [&] {
        const CUmemGenericAllocationHandle handle = offered;
        if (handle == 0) return std::this_thread::yield();
        is_mapped = map(address, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS;
        offered = 0;
      },
      [&] {
        CUmemGenericAllocationHandle handle = 0;
        if (create(&handle, 2 * kMiB, &wanted, 0) != CUDA_SUCCESS) return;
        offered = handle;
        for (std::atomic<int> wait = ++round % 256; wait > 0; --wait) continue;
        release(handle);
        while (offered != 0) std::this_thread::yield();
        if (round % 64 == 0) bounds.Look();
        if (is_mapped) unmap(address, 2 * kMiB);
        is_mapped = false;
      });
  bounds.End(done.result == CUDA_SUCCESS);
  return done.result;
}

CUresult RetainedWhileUnmapped(uint64_t) {
  Bounds bounds;
  const auto create = CU(cuMemCreate);
  const auto release = CU(cuMemRelease);
  const auto map = CU(cuMemMap);
  const auto unmap = CU(cuMemUnmap);
  const auto retain = CU(cuMemRetainAllocationHandle);
  const CUmemAllocationProp wanted = Pinned();
  CUdeviceptr address = 0;
  FirstFailure done;
  done << CU_AS(cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)(
      &address, 4 * kMiB, 0, 0, 0);
  std::atomic<bool> is_offered{false};
  std::atomic<CUmemGenericAllocationHandle> retained{0};
  int round = 0;
  Race(
      [&] {
        if (!is_offered) return std::this_thread::yield();
        CUmemGenericAllocationHandle handle = 0;
        void* const inside = reinterpret_cast<void*>(address + 3 * kMiB);
        if (retain(&handle, inside) == CUDA_SUCCESS) retained = handle;
        is_offered = false;
      },
      [&] {
        CUmemGenericAllocationHandle handle = 0;
        if (create(&handle, 4 * kMiB, &wanted, 0) != CUDA_SUCCESS) return;
        map(address, 4 * kMiB, 0, handle, 0);
        release(handle);
        is_offered = true;
        unmap(address, 4 * kMiB);
        while (is_offered) std::this_thread::yield();
        if (++round % 64 == 0) bounds.Look();
        if (retained != 0) release(retained);
        retained = 0;
      });
  bounds.End(done.result == CUDA_SUCCESS);
  return done.result;
}

// Each stream has work for longer than this takes, so that nothing of the pool is free.
CUresult RefusedByAPool(uint64_t) {
  Bounds bounds;
  const CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
  CUmemoryPool pool = nullptr;
  FirstFailure done;
  done << CU(cuMemPoolCreate)(&pool, &wanted);
  if (done.result != CUDA_SUCCESS) return done.result;
  const CUfunction kernel = SpinKernel();
  CUdeviceptr piece = 0;
  int refused = 0;
  for (int i = 0; i < 6; ++i) {
    const CUstream stream = NewStream();
    done << Spin(kernel, 400'000'000, 1, stream);
    const CUresult result = CU(cuMemAllocFromPoolAsync)(&piece, kLimit / 3, pool, stream);
    if (result == CUDA_SUCCESS) {
      CU(cuMemFreeAsync)(piece, stream);
    } else {
      ++refused;
    }
  }
  Note(std::to_string(refused) + " of 6 were refused");
  bounds.End(done.result == CUDA_SUCCESS);
  Synchronize();
  CU(cuMemPoolDestroy)(pool);
  return done.result;
}

CUresult CaptureThatEnds(uint64_t) {
  const auto begin = CU_AS(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode);
  const auto end = CU_AS(cuStreamEndCapture, CUstream, CUgraph*);
  const auto use = CU(cuCtxSetCurrent);
  const auto allocate = CU(cuMemAllocAsync);
  const auto release = CU(cuMemFreeAsync);
  const auto synchronize = CU(cuStreamSynchronize);
  const CUstream stream = NewStream();
  CUcontext context = nullptr;
  CU(cuCtxGetCurrent)(&context);
  Bounds bounds;
  int round = 0;
  Race(
      [&] {
        CUgraph captured = nullptr;
        use(context);
        begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        end(stream, &captured);
      },
      [&] {
        CUdeviceptr piece = 0;
        if (allocate(&piece, kPiece, stream) != CUDA_SUCCESS) return;
        if (++round % 16 == 0) bounds.Look();
        release(piece, stream);
        synchronize(stream);
      });
  return bounds.End(true);
}

void Nothing() {}

constexpr Step kSteps[] = {
    {"", AnswerWrittenOver, Nothing, "an answer written over", true},
    {"", QuestionWrittenOver, Nothing, "a question written over", true},
    {"", AllocatedWhileAContextEnds, Nothing, "allocated while a context ends", true},
    {"", MappedWhileReleased, Nothing, "mapped while its handle is released", true},
    {"", RetainedWhileUnmapped, Nothing, "retained while it is unmapped", true},
    {"", RefusedByAPool, Nothing, "refused by a pool whose pieces are in use", true},
    {"", CaptureThatEnds, Nothing, "allocated while a capture ends", true},
};

}  // namespace

std::span<const Step> RaceSteps() {
  return kSteps;
}

}  // namespace tessera::card
