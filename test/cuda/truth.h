// SPDX-License-Identifier: Apache-2.0
// What the fake driver's library tells beside CUDA's functions, for tests. A card is named by its
// UUID, a process by its id; 0: all processes. Any thread, after cuInit.
#pragma once

#include <sys/types.h>

#include <cstdint>

extern "C" {
uint64_t fakecuda_resident(const char* uuid, pid_t pid);  // bytes
uint64_t fakecuda_busy(const char* uuid, pid_t pid);      // ns of kernels that ran until now
uint64_t fakecuda_kernels(pid_t pid);                     // launched
}
