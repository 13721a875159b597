// SPDX-License-Identifier: Apache-2.0
// Linear memory: what cuMemFree takes back.
#include "limiter/memory/charge.h"

using namespace tessera::limiter;  // NOLINT: hooks are C's

namespace {

constexpr bool kOnCard = false;  // what it never is that is managed

// Null pointers and zero bytes are left to the driver.
int PlaceFor(const void* out, uint64_t bytes) {
  return out == nullptr || bytes == 0 ? -1 : CurrentPlace();
}

// If the card is full and the container may exceed it: managed memory, if the driver can move its
// pages while a kernel runs.
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
  if (!may || moves == 0) return result;
  const CUresult managed = driver.cuMemAllocManaged(out, bytes, kForAll);
  *is_managed = managed == CUDA_SUCCESS;
  if (*is_managed) SayManaged(place, bytes);
  return managed;
}

bool Hold(CUdeviceptr pointer, int place, uint64_t bytes, bool is_managed) {
  const Holding holding{.bytes = bytes, .other = is_managed ? kManaged : 0, .device = place};
  // Displayed first: once recorded, another thread can free it.
  if (is_managed) [[unlikely]]
    ShowManaged(place, static_cast<int64_t>(bytes));
  if (Remember(Sort::kLinear, pointer, holding)) [[likely]]
    return true;
  if (is_managed) ShowManaged(place, -static_cast<int64_t>(bytes));
  return false;
}

// call() allocates `expected` bytes, mostly; real() returns the actual number. A small block
// reserves a whole chunk. Without room for one, it may still fit into an existing chunk.
template <typename Pointer, typename Call, typename Undo, typename Real>
CUresult AllocateLinear(int place, uint64_t expected, const Pointer* out, Call call, Undo undo,
                        Real real, const bool& is_managed = kOnCard) {
  if (place < 0) return call();
  uint64_t reserved = RoundUp(expected, kChunk);
  if (!TryReserve(place, reserved, Kind::kData)) [[unlikely]] {
    const bool may_fit = IsSmall(expected) && MayFit(place, expected);
    if (!may_fit && !ReserveOrTrim(place, reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (may_fit) reserved = 0;
  }
  const CUresult result = Patiently(call);
  if (result != CUDA_SUCCESS) [[unlikely]] {
    Release(place, reserved, Kind::kData);
    return result;
  }
  const uint64_t bytes = real(), taken = RoundUp(bytes, kChunk);
  if (taken < reserved) [[unlikely]] {
    Release(place, reserved - taken, Kind::kData);
    reserved = taken;
  }
  if (IsSmall(bytes)) {
    if (PutIntoChunk(place, *out, reserved != 0)) return CUDA_SUCCESS;
    NoteFull(place, bytes);
    undo();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ForgetChunk(*out);
  if (taken > reserved && ReserveOrTrim(place, taken - reserved)) reserved = taken;
  if (reserved == taken && Hold(*out, place, taken, is_managed)) [[likely]]
    return CUDA_SUCCESS;
  undo();
  Release(place, reserved, Kind::kData);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

template <typename Pointer, typename Call, typename Undo>
CUresult AllocateLinear(int place, uint64_t bytes, const Pointer* out, Call call, Undo undo) {
  return AllocateLinear(place, bytes, out, call, undo, [bytes] { return bytes; });
}

constexpr uint64_t kRow = 512;

template <typename Call>
CUresult PitchedOrManaged(CUdeviceptr* out, size_t* pitch, uint64_t width, uint64_t height,
                          bool* is_managed, Call call) {
  const uint64_t row = RoundUp(width, kRow);
  // No device has so much; without a place for the answer the driver refuses.
  if (pitch == nullptr || row > kMaxBytes || height > kMaxBytes / row) return call();
  const CUresult result = OrManaged(PlaceFor(out, width), out, row * height, is_managed, call);
  if (*is_managed) *pitch = row;
  return result;
}

// Rows are a multiple of 512 bytes, mostly; the driver reports the actual length.
template <typename Pointer, typename Size, typename Call, typename Undo>
CUresult AllocatePitched(Pointer* out, Size* pitch, uint64_t width, uint64_t height, Call call,
                         Undo undo, const bool& is_managed = kOnCard) {
  const int place = pitch == nullptr ? -1 : PlaceFor(out, width * height);
  uint64_t guessed = 0;
  if (__builtin_mul_overflow(RoundUp(width, kRow), height, &guessed)) guessed = UINT64_MAX;
  const auto real = [&] { return uint64_t{*pitch} * height; };
  return AllocateLinear(place, guessed, out, call, undo, real, is_managed);
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
    return AllocateLinear(
        place, bytes, out, [&] { return OrManaged(place, out, bytes, &is_managed, call); },
        [&] { return driver.cuMemFree_v2(*out); }, [bytes] { return bytes; }, is_managed);
  });
}

CUresult cuMemAlloc(CUdeviceptr_v1* answer, unsigned bytes) {
  return Answered(answer, [bytes](CUdeviceptr_v1* out) {
    const Driver& driver = TheDriver();
    return AllocateLinear(
        PlaceFor(out, bytes), bytes, out, [&] { return driver.cuMemAlloc(out, bytes); },
        [&] { return driver.cuMemFree(*out); });
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* answer, size_t* pitch_answer, size_t width, size_t height,
                            unsigned element) {
  const Driver& driver = TheDriver();
  const auto allocate = [&](CUdeviceptr* out, size_t* pitch) {
    bool is_managed = false;
    return AllocatePitched(
        out, pitch, width, height,
        [&] {
          const auto call = [&] {
            return driver.cuMemAllocPitch_v2(out, pitch, width, height, element);
          };
          return PitchedOrManaged(out, pitch, width, height, &is_managed, call);
        },
        [&] { return driver.cuMemFree_v2(*out); }, is_managed);
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

// Counted in full, wherever its pages are at the moment.
CUresult cuMemAllocManaged(CUdeviceptr* answer, size_t bytes, unsigned flags) {
  return Answered(answer, [&](CUdeviceptr* out) {
    const Driver& driver = TheDriver();
    return AllocateLinear(
        PlaceFor(out, bytes), bytes, out,
        [&] { return driver.cuMemAllocManaged(out, bytes, flags); },
        [&] { return driver.cuMemFree_v2(*out); });
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return FreeLinear(pointer, [&] { return TheDriver().cuMemFree_v2(pointer); });
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
  return FreeLinear(pointer, [&] { return TheDriver().cuMemFree(pointer); });
}
