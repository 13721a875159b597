// SPDX-License-Identifier: Apache-2.0
#include "test/limiter/kills/survivor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "limiter/contract.h"
#include "limiter/driver/cuda.h"
#include "test/cuda/truth.h"
#include "test/waits/waits.h"

namespace tessera::limiter {
namespace {

constexpr char kUuid[] = "GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce";  // of demo/hardware/1xt4.yaml
constexpr uint64_t kUnits = kMaxBytes / kUnit;

const Region& MapRegion() {
  const int file = open(getenv("CUDA_DEVICE_MEMORY_SHARED_CACHE"), O_RDONLY | O_CLOEXEC);
  void* const memory = mmap(nullptr, kRegionSize, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    perror("the region");
    exit(1);
  }
  close(file);
  return *static_cast<const Region*>(memory);
}

// Reads each word as it is. After the survivor's call no half-done step may be left for the next
// process to complete.
Found Look(const Accounting& accounting) {
  Found found{};
  found.total = (accounting.devices[0].total.low & kUnits) * kUnit;
  found.lent = (accounting.devices[0].lent & kUnits) * kUnit;
  found.resident = fakecuda_resident(kUuid, 0);
  for (int slot = 0; slot < kMaxSlots; ++slot) {
    const SlotAccounting& of = accounting.slots[slot];
    const uint64_t share = (of.share[0] & kUnits) * kUnit;
    found.shares += share;
    if (of.owner == 0) {
      if (accounting.in_flight[slot][0].since != 0) ++found.flights;
      continue;
    }
    const auto pid = static_cast<pid_t>(static_cast<uint32_t>(of.owner));
    if (fakecuda_resident(kUuid, pid) != share) ++found.strangers;
  }
  return found;
}

struct Allocation {
  explicit Allocation(uint64_t bytes) {
    const int64_t before = Waits();
    result = cuMemAlloc_v2(&address, bytes);
    waits = Waits() - before;
  }
  ~Allocation() {
    if (result == CUDA_SUCCESS) cuMemFree_v2(address);
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  CUdeviceptr address = 0;
  CUresult result;
  int64_t waits;
};

Found AskOnce(const Accounting& accounting, uint64_t bytes) {
  const Allocation all(kFirst + bytes);
  Found found = Look(accounting);
  found.result = all.result;
  found.waits = all.waits;
  return found;
}

Found AskTwice(const Accounting& accounting, uint64_t bytes) {
  const Allocation first(kFirst);
  const Found after_first = Look(accounting);
  const Allocation rest(bytes);
  Found found = Look(accounting);
  found.lost = static_cast<int64_t>(after_first.total - after_first.shares);
  found.result = rest.result;
  found.waits = first.waits + rest.waits;
  return found;
}

struct Order {
  Calls calls;
  uint64_t bytes;
};

[[noreturn]] void Survive(int orders, int answer) {
  StartCuda();
  CUdeviceptr own = 0;
  if (cuMemAlloc_v2(&own, kOwn) != CUDA_SUCCESS) exit(1);
  const Region& region = MapRegion();
  Order order{};
  while (read(orders, &order, sizeof order) == sizeof order) {
    const Found found = order.calls == Calls::kOne ? AskOnce(region.accounting, order.bytes)
                                                   : AskTwice(region.accounting, order.bytes);
    if (write(answer, &found, sizeof found) != sizeof found) break;
  }
  _exit(0);
}

}  // namespace

std::string Text(const Found& found) {
  char text[256];
  snprintf(text, sizeof text,
           "%ld bytes lost, result %d, %ld waits, total %lu, shares %lu, resident %lu, lent %lu, "
           "%d slots not as the device has it, %d flights of the dead",
           found.lost, found.result, found.waits, found.total, found.shares, found.resident,
           found.lent, found.strangers, found.flights);
  return text;
}

Survivor::Survivor() {
  int order[2], answer[2];
  if (pipe2(order, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) exit(1);
  fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    close(order[1]);
    Survive(order[0], answer[1]);
  }
  close(order[0]);
  close(answer[1]);
  order_ = order[1];
  answer_ = answer[0];
}

Survivor::~Survivor() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(order_);
  close(answer_);
}

Found Survivor::Ask(Calls calls, uint64_t bytes) const {
  Found found{};
  const Order order{calls, bytes};
  if (write(order_, &order, sizeof order) != sizeof order ||
      read(answer_, &found, sizeof found) != sizeof found) {
    fprintf(stderr, "the survivor is dead\n");
    exit(1);
  }
  return found;
}

void StartCuda() {
  CUcontext context = nullptr;
  if (cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
      cuCtxSetCurrent(context) == CUDA_SUCCESS) {
    return;
  }
  fprintf(stderr, "there is no CUDA\n");
  exit(1);
}

}  // namespace tessera::limiter
