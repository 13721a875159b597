// SPDX-License-Identifier: Apache-2.0
// What a test and the library that is preloaded into the agent say to each other: one page of
// memory that both map, from the file that kControlVariable names. The test makes it and writes
// orders, the library counts; either at any time, on any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::faults {

inline constexpr char kControlVariable[] = "TESSERA_TEST_PRELOAD";

// The calls by which a process leaves something behind that others see.
enum class Call : uint8_t {
  kWrite,
  kWritev,
  kPwrite,
  kRename,
  kRenameat2,
  kFsync,
  kFdatasync,
  kUnlink,
  kUnlinkat,
  kBind,
  kSend,
  kSendmsg,
};
inline constexpr int kCalls = 12;

// What a file system refuses below every directory whose path has kRefusing in it.
enum class Refusal : uint8_t {
  kNothing,
  kChanges,  // EROFS: every change, to open files too
  kNames,    // EACCES: to open a file for writing, to rename, to remove; open files are written
  kWrites,   // ENOSPC: what is written into files
};
inline constexpr char kRefusing[] = "/state/";

// All zeros is: nothing happens.
struct Control {
  // The process is killed in the call of this kind (of them, the one numbered kill_at, from 1): a
  // write to a file after the first half of it was written, every other before it does anything.
  std::atomic<Call> kill_in;
  std::atomic<uint32_t> kill_at;
  std::atomic<uint32_t> counts[kCalls];  // calls so far
  std::atomic<int64_t> clock_jump_ns;    // added to the time of day
  std::atomic<int64_t> uptime_jump_ns;   // added to the time since boot
  std::atomic<Refusal> refusal;          // from now on
};

}  // namespace tessera::faults
