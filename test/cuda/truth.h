// SPDX-License-Identifier: Apache-2.0
// What the fake driver's library has beside CUDA's functions, for tests. A card is named by its
// UUID, a process by its id; 0: all processes. Any thread, after cuInit.
#pragma once

#include <sys/types.h>

#include <cstdint>

extern "C" {
uint64_t fakecuda_resident(const char* uuid, pid_t pid);  // bytes
uint64_t fakecuda_busy(const char* uuid, pid_t pid);      // ns of kernels that ran until now
uint64_t fakecuda_kernels(pid_t pid);                     // launched
// Memory that another interface than CUDA made, as Vulkan would: a descriptor, which alone has it;
// -1: the card has no more.
int fakecuda_export(const char* uuid, uint64_t bytes);
}
