// SPDX-License-Identifier: Apache-2.0
// A test's orders to the library that is preloaded into the agent. Both map one page of the
// file that the environment variable kControlVariable names. The test makes the file and writes
// orders; the library counts calls. All fields are atomic: any thread, at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::faults {

inline constexpr char kControlVariable[] = "TESSERA_TEST_PRELOAD";

// The calls by which a process changes state that other processes see.
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

// The calls that fail on paths that contain kRefusing, as on a broken file system.
enum class Refusal : uint8_t {
  kNothing,
  kChanges,  // EROFS: open for writing, rename, unlink; write and ftruncate, on open files too
  kNames,    // EACCES: open for writing, rename, unlink; writes to open files succeed
  kWrites,   // ENOSPC: write and ftruncate
};
inline constexpr char kRefusing[] = "/state/";

// All zeros: the library only counts.
struct Control {
  // The process dies in its call number kill_at (from 1) of this kind. A write() to a file first
  // writes half of its bytes. Every other call has no effect.
  std::atomic<Call> kill_in;
  std::atomic<uint32_t> kill_at;
  std::atomic<uint32_t> counts[kCalls];  // calls so far, by Call
  std::atomic<int64_t> clock_jump_ns;    // added to CLOCK_REALTIME
  std::atomic<int64_t> uptime_jump_ns;   // added to CLOCK_MONOTONIC
  std::atomic<Refusal> refusal;
};

}  // namespace tessera::faults
