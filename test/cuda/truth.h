// SPDX-License-Identifier: Apache-2.0
// Functions of the fake driver's library that CUDA does not have, for tests. `uuid` names a card;
// pid 0 means all processes. Any thread, after cuInit.
#pragma once

#include <sys/types.h>

#include <cstdint>

extern "C" {
uint64_t fakecuda_resident(const char* uuid, pid_t pid);  // bytes
uint64_t fakecuda_busy(const char* uuid, pid_t pid);      // ns that kernels have run until now
uint64_t fakecuda_kernels(pid_t pid);                     // the number launched
// Makes memory as another interface would (Vulkan). Returns its descriptor, the only reference to
// it. -1: the card has too little.
int fakecuda_export(const char* uuid, uint64_t bytes);
}
