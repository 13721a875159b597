// SPDX-License-Identifier: Apache-2.0
// Linear memory: what cuMemFree takes back.
#include "limiter/memory/charge.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

// Null pointers and no bytes are the driver's to refuse.
int PlaceFor(const void* out, uint64_t bytes) {
  return out == nullptr || bytes == 0 ? -1 : CurrentPlace();
}

// Where the card has no room left and the container may have more than that: memory whose pages the
// driver moves, if it can while a kernel runs.
template <typename Call>
CUresult OrManaged(int place, CUdeviceptr* out, uint64_t bytes, bool* is_managed, Call call) {
  const CUresult result = Patiently(call);
  if (result != CUDA_ERROR_OUT_OF_MEMORY || place < 0 || !Oversubscribes()) return result;
  const Driver& driver = TheDriver();
  constexpr auto kMovesPages = CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
  constexpr unsigned kForAll = 1;
  CUdevice device = -1;
  int moves = 0;
  const bool may = driver.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
                   driver.cuDeviceGetAttribute(&moves, kMovesPages, device) == CUDA_SUCCESS;
  *is_managed = may && moves != 0;
  return *is_managed ? driver.cuMemAllocManaged(out, bytes, kForAll) : result;
}

constexpr uint64_t kRow = 512;

template <typename Call>
CUresult PitchedOrManaged(CUdeviceptr* out, size_t* pitch, uint64_t width, uint64_t height,
                          Call call) {
  const uint64_t row = RoundUp(width, kRow);
  // Nobody has so much, nor is it asked for without a place for the answer.
  if (pitch == nullptr || row > kMaxBytes || height > kMaxBytes / row) return call();
  bool is_managed = false;
  const CUresult result = OrManaged(PlaceFor(out, width), out, row * height, &is_managed, call);
  if (is_managed) *pitch = row;
  return result;
}

// Rows are of a multiple of 512 bytes, mostly; the driver says of how many.
template <typename Pointer, typename Size, typename Call, typename Undo>
CUresult AllocatePitched(Pointer* out, Size* pitch, uint64_t width, uint64_t height, Call call,
                         Undo undo) {
  const int place = pitch == nullptr ? -1 : PlaceFor(out, width * height);
  uint64_t guessed = 0;
  if (__builtin_mul_overflow(RoundUp(width, kRow), height, &guessed)) guessed = UINT64_MAX;
  guessed = Granted(guessed);
  const CUresult result = Allocate(Sort::kLinear, place, guessed, out, call, undo);
  if (result != CUDA_SUCCESS || place < 0) return result;
  const uint64_t real = Granted(uint64_t{*pitch} * height);
  Holding after;
  if (real > guessed && !ReserveOrTrim(place, real - guessed)) {
    Free(Sort::kLinear, *out, undo);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (real < guessed) Release(place, guessed - real, Kind::kData);
  // One that is free meanwhile again was freed with what was counted by then: never, for nobody has
  // it yet.
  Table* const table = TheTable();
  if (real != guessed && table->Take(Sort::kLinear, *out, &after)) {
    after.bytes = real;
    table->Add(Sort::kLinear, *out, after);
  }
  return CUDA_SUCCESS;
}

template <typename Pointer, typename Size, typename Body>
CUresult AnsweredPitched(Pointer* answer, Size* pitch_answer, Body body) {
  return Answered(answer, [&](Pointer* out) {
    return Answered(pitch_answer, [&](Size* pitch) { return body(out, pitch); });
  });
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* answer, size_t bytes) {
  return Answered(answer, [bytes](CUdeviceptr* out) {
    const Driver& driver = TheDriver();
    const int place = PlaceFor(out, bytes);
    const auto call = [&] { return driver.cuMemAlloc_v2(out, bytes); };
    bool is_managed = false;
    return Allocate(
        Sort::kLinear, place, Granted(bytes), out,
        [&] { return OrManaged(place, out, bytes, &is_managed, call); },
        [&] { return driver.cuMemFree_v2(*out); });
  });
}

CUresult cuMemAlloc(CUdeviceptr_v1* answer, unsigned bytes) {
  return Answered(answer, [bytes](CUdeviceptr_v1* out) {
    const Driver& driver = TheDriver();
    return Allocate(
        Sort::kLinear, PlaceFor(out, bytes), Granted(bytes), out,
        [&] { return driver.cuMemAlloc(out, bytes); }, [&] { return driver.cuMemFree(*out); });
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* answer, size_t* pitch_answer, size_t width, size_t height,
                            unsigned element) {
  const Driver& driver = TheDriver();
  const auto allocate = [&](CUdeviceptr* out, size_t* pitch) {
    return AllocatePitched(
        out, pitch, width, height,
        [&] {
          const auto call = [&] {
            return driver.cuMemAllocPitch_v2(out, pitch, width, height, element);
          };
          return PitchedOrManaged(out, pitch, width, height, call);
        },
        [&] { return driver.cuMemFree_v2(*out); });
  };
  return AnsweredPitched(answer, pitch_answer, allocate);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* answer, unsigned* pitch_answer, unsigned width,
                         unsigned height, unsigned element) {
  const Driver& driver = TheDriver();
  const auto allocate = [&](CUdeviceptr_v1* out, unsigned* pitch) {
    return AllocatePitched(
        out, pitch, width, height,
        [&] { return driver.cuMemAllocPitch(out, pitch, width, height, element); },
        [&] { return driver.cuMemFree(*out); });
  };
  return AnsweredPitched(answer, pitch_answer, allocate);
}

// In full, wherever its pages are at the moment.
CUresult cuMemAllocManaged(CUdeviceptr* answer, size_t bytes, unsigned flags) {
  return Answered(answer, [&](CUdeviceptr* out) {
    const Driver& driver = TheDriver();
    return Allocate(
        Sort::kLinear, PlaceFor(out, bytes), Granted(bytes), out,
        [&] { return driver.cuMemAllocManaged(out, bytes, flags); },
        [&] { return driver.cuMemFree_v2(*out); });
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return Free(Sort::kLinear, pointer, [&] { return TheDriver().cuMemFree_v2(pointer); });
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
  return Free(Sort::kLinear, pointer, [&] { return TheDriver().cuMemFree(pointer); });
}
