// SPDX-License-Identifier: Apache-2.0
// Whether a file is one that the node's agent mounted into this container (contract.h), or
// something that a pod's volume, its image or one of its programs has put in that place. The kernel
// says so: its list of mounts names the file system and the directory there that each is of, and no
// program of the container writes it.
#pragma once

#include <cstdint>

#include "limiter/limits/text.h"

namespace tessera::limiter {

inline constexpr char kMountsPath[] = "/proc/self/mountinfo";

enum class MountOrigin : uint8_t {
  kUnknown,  // nothing says that an agent gave the container anything
  kAgent,
  kOther,  // it is not the agent's, or hides that one
};

// By the list's text. `loads`: the mount that has the file which names the library; `file`: the one
// that has the file of this name, negative where there is no such file. Pure.
MountOrigin MountOriginOf(Text mounts, int64_t loads, int64_t file, Text name);

// The mounts of this process, as they are now; what is looked at is closed and unmapped again.
class Mounts {
 public:
  Mounts(const char* loads, const char* list);
  ~Mounts();
  Mounts(const Mounts&) = delete;
  Mounts& operator=(const Mounts&) = delete;

  // Of the file at this path; -1: nothing is there.
  MountOrigin Of(int file, const char* path) const;

 private:
  void Read(const char* list);

  int64_t loads_ = -1;   // its mount; negative: there is no such file
  bool unsure_ = false;  // nobody knows
  void* memory_ = nullptr;
  Text text_;
};

}  // namespace tessera::limiter
