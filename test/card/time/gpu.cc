// SPDX-License-Identifier: Apache-2.0
#include "card/time/gpu.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "card/row.h"

// NOLINTNEXTLINE(readability-identifier-naming): it is the driver's
extern "C" CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);

namespace tessera::card {
namespace {

std::string& TroubleName() {
  static std::string name = "the GPU";
  return name;
}

}  // namespace

// What the rounds come to is far below what would make it trap, which no compiler knows: so it
// leaves none of them out.
const char kKernels[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry empty() { ret; }
.visible .entry work_spin(.param .u64 ns, .param .u64 rounds, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %thread, %block;
  .reg .f32 %x, %y;
  .reg .b64 %left, %out, %begin, %end;
  ld.param.u64 %left, [rounds];
  ld.param.u64 %out, [out];
  mov.u64 %begin, %globaltimer;
  cvt.rn.f32.u64 %x, %left;
  mov.f32 %y, 0f3F7FFFF0;
again:
  fma.rn.f32 %x, %x, %y, %y;
  fma.rn.f32 %x, %x, %y, %y;
  fma.rn.f32 %x, %x, %y, %y;
  fma.rn.f32 %x, %x, %y, %y;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %p, %left, 0;
  @%p bra again;
  setp.gt.f32 %p, %x, 0f7F000000;
  @%p trap;
  mov.u64 %end, %globaltimer;
  setp.eq.u64 %p, %out, 0;
  @%p ret;
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  or.b32 %thread, %thread, %block;
  setp.ne.u32 %p, %thread, 0;
  @%p ret;
  st.global.u64 [%out], %begin;
  st.global.u64 [%out+8], %end;
  ret;
}
.visible .entry gaps_spin(.param .u64 ns, .param .u64 out, .param .u64 most)
{
  .reg .pred %p;
  .reg .b64 %ns, %out, %at, %most, %count, %begin, %last, %now, %passed;
  ld.param.u64 %ns, [ns];
  ld.param.u64 %out, [out];
  ld.param.u64 %most, [most];
  add.u64 %at, %out, 24;
  mov.u64 %count, 0;
  mov.u64 %begin, %globaltimer;
  mov.u64 %last, %begin;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %last;
  setp.lt.u64 %p, %passed, 20000;
  @%p bra next;
  setp.ge.u64 %p, %count, %most;
  @%p bra next;
  st.global.u64 [%at], %last;
  st.global.u64 [%at+8], %now;
  add.u64 %at, %at, 16;
  add.u64 %count, %count, 1;
next:
  mov.u64 %last, %now;
  sub.u64 %passed, %now, %begin;
  setp.lt.u64 %p, %passed, %ns;
  @%p bra again;
  add.u64 %count, %count, 1;
  st.global.u64 [%out], %count;
  st.global.u64 [%out+8], %begin;
  st.global.u64 [%out+16], %now;
  ret;
}
)";

uint64_t Now() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void NameTrouble(std::string_view name) {
  TroubleName() = name;
}

void Check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  Trouble(TroubleName(), std::string(what) + ": " + std::to_string(result));
  _exit(1);
}

#define CHECK(call) Check(call, #call)

Gpu::Gpu() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  int multiprocessors = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device_, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device_));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kKernels));
  CHECK(cuModuleGetFunction(&work_, module, "work_spin"));
  CHECK(cuModuleGetFunction(&gaps_, module, "gaps_spin"));
  CHECK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
  CHECK(cuEventCreate(&begin_, 0));
  CHECK(cuEventCreate(&end_, 0));
  blocks_ = static_cast<unsigned>(multiprocessors);
}

void Gpu::Launch(Work work, CUdeviceptr stamps) {
  void* parameters[] = {&work.ns, &work.rounds, &stamps};
  CHECK(cuLaunchKernel(work_, blocks_, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
}

void Gpu::LaunchGaps(uint64_t ns, CUdeviceptr out, uint64_t most) {
  void* parameters[] = {&ns, &out, &most};
  CHECK(cuLaunchKernel(gaps_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
}

void Gpu::Wait() {
  CHECK(cuCtxSynchronize());
}

double Gpu::MicrosecondsOf(Work work, CUdeviceptr stamps) {
  float ms = 0;
  CHECK(cuEventRecord(begin_, nullptr));
  Launch(work, stamps);
  CHECK(cuEventRecord(end_, nullptr));
  CHECK(cuEventSynchronize(end_));
  CHECK(cuEventElapsedTime(&ms, begin_, end_));
  return static_cast<double>(ms) * 1000;
}

// Long enough at first that the clocks rise.
double Gpu::RoundsPerNs() {
  uint64_t rounds = 100'000;
  double rate = 1;
  std::vector<double> rates;
  for (int i = 0; i < 15; ++i) {
    rate = static_cast<double>(rounds) / 1000 / MicrosecondsOf({rounds, rounds});
    rounds = std::max<uint64_t>(static_cast<uint64_t>(rate * 20e6), 1);
    if (i >= 8) rates.push_back(rate);
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

CUdeviceptr Gpu::Allocate(size_t words) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, words * sizeof(uint64_t)));
  CHECK(cuMemsetD8_v2(address, 0, words * sizeof(uint64_t)));
  return address;
}

std::vector<uint64_t> Gpu::Read(CUdeviceptr from, size_t words) {
  std::vector<uint64_t> read(words);
  CHECK(cuMemcpyDtoH_v2(read.data(), from, words * sizeof(uint64_t)));
  return read;
}

std::string Gpu::Uuid() const {
  CUuuid uuid{};
  CHECK(cuDeviceGetUuid_v2(&uuid, device_));
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
}

}  // namespace tessera::card
