// SPDX-License-Identifier: Apache-2.0
// Starts COUNT processes of a container at the same time. Each makes its first calls and stays
// until the last one has made them. Prints how many got memory, and how often one waited for
// another:
//
// `64 have memory, 0 waits`.
//
// Usage: `limit_begin COUNT`.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "limiter/driver/cuda.h"
#include "test/waits/waits.h"

namespace {

using tessera::limiter::Waits;

struct Begun {
  int result;
  long waits;
};

struct Pipe {
  int read;
  int write;
};

Pipe NewPipe() {
  int ends[2];
  if (pipe(ends) == 0) return {ends[0], ends[1]};
  perror("pipe");
  exit(1);
}

// Waits until all other processes have closed the gate.
void AwaitEnd(const Pipe& gate) {
  char byte;
  close(gate.write);
  if (read(gate.read, &byte, 1) != 0) _exit(1);
}

// cuInit comes first, as the driver itself waits there. The limiter starts with the first call that
// it hooks.
Begun Begin() {
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  size_t all = 0;
  if (cuInit(0) != CUDA_SUCCESS) _exit(1);
  const long before = Waits();
  int result = cuDeviceTotalMem_v2(&all, 0);
  if (result == CUDA_SUCCESS) result = cuDevicePrimaryCtxRetain(&context, 0);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS) result = cuMemAlloc_v2(&address, 4096);
  return {result, Waits() - before};
}

}  // namespace

int main(int count, char** words) {
  const int processes = count > 1 ? atoi(words[1]) : 0;
  const Pipe start = NewPipe(), end = NewPipe(), answers = NewPipe();
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    AwaitEnd(start);
    const Begun begun = Begin();
    if (write(answers.write, &begun, sizeof begun) != sizeof begun) _exit(1);
    AwaitEnd(end);
    _exit(0);
  }
  close(answers.write);
  close(start.write);
  int have_memory = 0;
  long waits = 0;
  Begun begun{};
  for (int i = 0; i < processes; ++i) {
    if (read(answers.read, &begun, sizeof begun) != sizeof begun) break;
    if (begun.result == CUDA_SUCCESS) ++have_memory;
    waits += begun.waits;
  }
  close(end.write);
  while (wait(nullptr) > 0) continue;
  printf("%d have memory, %ld waits\n", have_memory, waits);
  return 0;
}
