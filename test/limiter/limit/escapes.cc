// SPDX-License-Identifier: Apache-2.0
// Ways past a limit that programs had with other limiters, each tried as such a program would.
// Prints what the device really gave, in pieces of 100 MiB:
//
// `10 pieces; 1000 MiB`.
//
// Usage: `limit_escapes WAY`. WAY is virtual, arrays, pool, nvml, slots, name, race, devices,
// either, cancelled, total, take, spin, or `stay COUNT`.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "limiter/driver/cuda.h"
#include "test/cuda/truth.h"

extern "C" CUresult cuMemAddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr,
                                        unsigned long long);

namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kPiece = 100 * kMiB;
constexpr int kMost = 40;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

void Use(CUdevice device) {
  CUcontext context = nullptr;
  Check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void Start() {
  Check(cuInit(0), "cuInit");
  Use(0);
}

unsigned long long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000 +
         static_cast<unsigned long long>(now.tv_nsec);
}

std::string Uuid(CUdevice device) {
  CUuuid uuid;
  Check(cuDeviceGetUuid_v2(&uuid, device), "cuDeviceGetUuid");
  char text[41] = "GPU-";
  for (int i = 0; i < 16; ++i) {
    const bool is_part = i == 4 || i == 6 || i == 8 || i == 10;
    snprintf(text + strlen(text), 4, "%s%02x", is_part ? "-" : "",
             static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// What the device gave to all processes.
unsigned long long Resident(CUdevice device = 0) {
  return fakecuda_resident(Uuid(device).c_str(), 0) / kMiB;
}

int Report(int pieces) {
  printf("%d pieces; %llu MiB\n", pieces, Resident());
  return 0;
}

int Take(int most, size_t bytes = kPiece) {
  CUdeviceptr address = 0;
  int got = 0;
  while (got < most && cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS) ++got;
  return got;
}

// The handle is released at once; the mapping keeps the memory.
int Virtual() {
  Start();
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUdeviceptr address = 0;
  Check(cuMemAddressReserve(&address, kMost * kPiece, 0, 0, 0), "cuMemAddressReserve");
  int got = 0;
  CUmemGenericAllocationHandle handle = 0;
  for (; got < kMost && cuMemCreate(&handle, kPiece, &wanted, 0) == CUDA_SUCCESS; ++got) {
    Check(cuMemMap(address + static_cast<size_t>(got) * kPiece, kPiece, 0, handle, 0), "cuMemMap");
    Check(cuMemRelease(handle), "cuMemRelease");
  }
  return Report(got);
}

int Arrays() {
  Start();
  const CUDA_ARRAY_DESCRIPTOR wanted{
      .Width = 10 * 1024, .Height = 10 * 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
  int got = 0;
  CUarray array = nullptr;
  while (got < 10 && cuArrayCreate_v2(&array, &wanted) == CUDA_SUCCESS) ++got;
  return Report(got);
}

int FromPool() {
  Start();
  CUmemoryPool pool = nullptr;
  Check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
  std::vector<CUdeviceptr> all(kMost);
  int got = 0;
  while (got < kMost && cuMemAllocFromPoolAsync(&all[static_cast<size_t>(got)], kPiece, pool,
                                                nullptr) == CUDA_SUCCESS) {
    ++got;
  }
  Report(got);
  for (int i = 0; i < got; ++i) {
    Check(cuMemFreeAsync(all[static_cast<size_t>(i)], nullptr), "cuMemFreeAsync");
  }
  Check(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  Check(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
  return Report(0);
}

// NVML sees all devices, CUDA only the second one.
int NvmlFirst() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return 1;
  if (reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"))() != 0) return 1;
  Start();
  return Report(Take(kMost));
}

// A process that obeys its input until that ends.
struct Other {
  pid_t pid;
  int input;   // pipe to it
  int output;  // pipe from it; a byte says that it is ready
};

Other StartOther(const char* program, const char* word, const char* count) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(to[0], 0);
    dup2(from[1], 2);
    execl(program, program, word, count, nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  char byte = 0;
  if (read(from[0], &byte, 1) != 1) exit(1);
  return {pid, to[1], from[0]};
}

void End(const Other& other) {
  close(other.input);
  close(other.output);
  waitpid(other.pid, nullptr, 0);
}

int Stay(int count) {
  Start();
  Take(count);
  char byte = 0;
  if (write(2, "", 1) != 1) return 1;
  return read(0, &byte, 1) == 0 ? 0 : 1;
}

// Two processes with earlier slots end, then another one starts.
int Slots(const char* program) {
  const Other first = StartOther(program, "stay", "0"), second = StartOther(program, "stay", "0");
  Start();
  Take(1);
  End(first);
  End(second);
  const Other last = StartOther(program, "stay", "0");
  const int got = 1 + Take(kMost - 1);
  End(last);
  return Report(got);
}

// A limiter that splits /proc/PID/stat at spaces reads this name's Z as the state, and takes the
// process for dead.
int Named(const char* program) {
  prctl(PR_SET_NAME, "a Z");
  Start();
  Take(9);
  const Other other = StartOther(program, "stay", "9");
  Report(9);
  End(other);
  return 0;
}

constexpr int kRounds = 50;
constexpr int kRacers = 8;
constexpr size_t kChunk = 64 * kMiB;

// At each byte it takes as much as it gets, or frees all; it answers each with a byte.
void RunRacer(int input, int output) {
  Start();
  std::vector<CUdeviceptr> held;
  char byte = 0;
  while (read(input, &byte, 1) == 1) {
    CUdeviceptr address = 0;
    if (byte == 't') {
      while (held.size() < 20 && cuMemAlloc_v2(&address, kChunk) == CUDA_SUCCESS) {
        held.push_back(address);
      }
    } else {
      for (const CUdeviceptr one : held) Check(cuMemFree_v2(one), "cuMemFree");
      held.clear();
    }
    if (write(output, "", 1) != 1) break;
  }
  _exit(0);
}

int Race() {
  Other racers[kRacers];
  for (Other& racer : racers) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return 1;
    racer = {fork(), to[1], from[0]};
    if (racer.pid == 0) {
      for (const Other* other = racers; other != &racer; ++other) close(other->input);
      close(to[1]);
      RunRacer(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
  }
  Check(cuInit(0), "cuInit");
  unsigned long long most = 0;
  for (int i = 0; i < kRounds; ++i) {
    for (const char what : {'t', 'f'}) {
      char byte = 0;
      for (const Other& racer : racers)
        if (write(racer.input, &what, 1) != 1) return 1;
      for (const Other& racer : racers)
        if (read(racer.output, &byte, 1) != 1) return 1;
      if (what == 't' && Resident() > most) most = Resident();
    }
  }
  for (const Other& racer : racers) End(racer);
  printf("%llu MiB at most\n", most);
  return 0;
}

// Frees memory of one device while another one is current.
int Devices() {
  Start();
  CUdeviceptr address = 0, other = 0;
  CUstream stream = nullptr;
  Check(cuStreamCreate(&stream, 0), "cuStreamCreate");
  Check(cuMemAllocAsync(&address, kPiece, stream), "cuMemAllocAsync");
  Use(1);
  const CUresult freed = cuMemFree_v2(address);
  const CUresult next = cuMemAlloc_v2(&other, kMiB);
  CUmemoryPool pool = nullptr;
  Check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
  Check(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
  printf("%d %d; %llu and %llu MiB\n", freed, next, Resident(0), Resident(1));
  return 0;
}

// Memory that one function allocated is freed by another one.
int Either() {
  Start();
  CUdeviceptr pooled = 0, linear = 0;
  CUmemoryPool pool = nullptr;
  Check(cuMemAllocAsync(&pooled, kPiece, nullptr), "cuMemAllocAsync");
  Check(cuMemAlloc_v2(&linear, kPiece), "cuMemAlloc");
  const CUresult first = cuMemFree_v2(pooled), second = cuMemFreeAsync(linear, nullptr);
  Check(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  Check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
  Check(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
  printf("%d %d %d; %llu MiB\n", first, second, cuMemFree_v2(0x1234), Resident());
  return 0;
}

// A cancelled thread ends where it opens or reads a file. Its first call does, as it looks for the
// limits.
int Cancelled() {
  Check(cuInit(0), "cuInit");
  std::thread cancelled([] {
    size_t bytes = 0;
    pthread_cancel(pthread_self());
    cuDeviceTotalMem_v2(&bytes, 0);
    pthread_testcancel();
  });
  cancelled.join();
  Use(0);
  return Report(Take(kMost));
}

int Total() {
  Start();
  size_t bytes = 0;
  Check(cuDeviceTotalMem_v2(&bytes, 0), "cuDeviceTotalMem");
  printf("%zu\n", bytes);
  return 0;
}

// Runs kernels one after the other, and prints whether the first device was busy for half of the
// time.
int Spin() {
  constexpr unsigned long long kWhile = 400'000'000;  // ns
  Start();
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  Check(cuModuleLoadData(&module, ".visible .entry spin(.param .u64 ns) { ret; }"),
        "cuModuleLoadData");
  Check(cuModuleGetFunction(&spin, module, "spin"), "cuModuleGetFunction");
  unsigned long long ns = 2'000'000;
  void* parameters[] = {&ns};
  const unsigned long long from = Now();
  while (Now() - from < kWhile) {
    Check(cuLaunchKernel(spin, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr),
          "cuLaunchKernel");
  }
  const unsigned long long busy = fakecuda_busy(Uuid(0).c_str(), getpid());
  printf("%s\n", busy < (Now() - from) / 2 ? "less than half" : "half or more");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string way = count > 1 ? words[1] : "";
  if (way == "virtual") return Virtual();
  if (way == "arrays") return Arrays();
  if (way == "pool") return FromPool();
  if (way == "nvml") return NvmlFirst();
  if (way == "slots") return Slots(words[0]);
  if (way == "name") return Named(words[0]);
  if (way == "race") return Race();
  if (way == "devices") return Devices();
  if (way == "either") return Either();
  if (way == "cancelled") return Cancelled();
  if (way == "total") return Total();
  if (way == "spin") return Spin();
  if (way == "stay" && count > 2) return Stay(atoi(words[2]));
  if (way == "take") {
    Start();
    return Report(Take(kMost));
  }
  return 1;
}
