// SPDX-License-Identifier: Apache-2.0
#include "cuda/truth.h"

#include "cuda/driver.h"

using namespace tessera::fake_cuda;  // NOLINT(google-build-using-namespace)

FAKE_EXPORT uint64_t fakecuda_resident(const char* uuid, pid_t pid) {
  Driver* driver = TheDriver();
  if (driver == nullptr) return 0;
  const unsigned card = driver->state->Find(uuid);
  return card == kMostCards ? 0 : driver->state->Resident(pid, card);
}
FAKE_EXPORT uint64_t fakecuda_busy(const char* uuid, pid_t pid) {
  Driver* driver = TheDriver();
  if (driver == nullptr) return 0;
  const unsigned card = driver->state->Find(uuid);
  return card == kMostCards ? 0 : driver->state->Busy(pid, card);
}
FAKE_EXPORT uint64_t fakecuda_kernels(pid_t pid) {
  Driver* driver = TheDriver();
  return driver == nullptr ? 0 : driver->state->Kernels(pid);
}
