// SPDX-License-Identifier: Apache-2.0
// Whether the node's agent mounted a file into this container (contract.h), or a pod's volume, its
// image or a program put it there. The kernel's list of mounts decides: it names each mount's file
// system and directory, and no program of the container can write it.
#pragma once

#include <cstdint>

#include "limiter/limits/text.h"

namespace tessera::limiter {

inline constexpr char kMountsPath[] = "/proc/self/mountinfo";

enum class MountOrigin : uint8_t {
  kUnknown,  // no sign of an agent
  kAgent,
  kOther,  // not the agent's file, or one that hides it
};

// The origin by the list's text. `loads`: the mount of the file that names the library. `file`: the
// mount of the file in question, negative if there is no such file. `name`: its name. Pure.
MountOrigin MountOriginOf(Text mounts, int64_t loads, int64_t file, Text name);

// This process's mounts at the time of construction. Leaves no descriptor or mapping behind. One
// thread.
class Mounts {
 public:
  Mounts(const char* loads, const char* list);
  ~Mounts();
  Mounts(const Mounts&) = delete;
  Mounts& operator=(const Mounts&) = delete;

  // The origin of the file at this path; `file` -1: none is there.
  MountOrigin Of(int file, const char* path) const;

 private:
  void Read(const char* list);

  int64_t loads_ = -1;   // its mount; negative: no such file
  bool unsure_ = false;  // the list does not show it
  void* memory_ = nullptr;
  Text text_;
};

}  // namespace tessera::limiter
