// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "limiter/elf/object.h"
#include "limiter/limits/environment.h"
#include "limiter/limits/file.h"
#include "limiter/limits/policy.h"
#include "limiter/limits/read.h"
#include "limiter/limits/region.h"

namespace tessera::limiter {
namespace {

void Break(const char* where, const char* what, Limits* limits) {
  *limits = {};
  limits->source = Source::kFile;
  limits->broken = true;
  limits->priority = kDefaultPriority;
  Explain(limits->reason, sizeof(limits->reason), where, what, {});
}

// The file does not open. False: there is none.
bool FindNone(const char* path, int error, const Mounts& mounts, Limits* limits) {
  if (error != ENOENT && error != ENOTDIR) {
    Break(path, "the limits file exists but cannot be opened; see its mode and its mount", limits);
    return true;
  }
  if (mounts.Of(-1, path) != MountOrigin::kOther) return false;
  Break(path, "the node's limits file is hidden by a mount or a link", limits);
  return true;
}

// False: there is no such file. A file that cannot be read is broken: it sets limits that are
// unknown.
bool ReadFile(const char* path, bool built_closed, const Mounts& mounts, Limits* limits) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return FindNone(path, errno, mounts, limits);
  const MountOrigin giver = mounts.Of(file, path);
  // Not on the stack, since the thread may be small.
  const size_t size = kLimitsSize + 1;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    Break(path, "no memory to read the limits file", limits);
  } else if (giver == MountOrigin::kOther) {
    Break(path, "the limits file is from the pod or its image, not from the node", limits);
    munmap(memory, size);
  } else if (built_closed && !IsOnReadOnlyMount(file)) {
    Break(path, "the limits file counts only on a read-only mount", limits);
    munmap(memory, size);
  } else {
    const ssize_t got = ReadAll(file, static_cast<char*>(memory), size);
    if (got < 0) {
      Break(path, "the limits file cannot be read", limits);
    } else {
      ParseLimitsFile(Text(static_cast<char*>(memory), static_cast<size_t>(got)), limits);
    }
    munmap(memory, size);
  }
  close(file);
  return true;
}

int Strictness(CorePolicy policy) {
  return policy == CorePolicy::kForce ? 2 : policy == CorePolicy::kDefault ? 1 : 0;
}

// The container may be stricter with itself than its file. If the file leaves the choice to it, its
// own setting counts.
void Combine(const Environment& environment, Limits* limits) {
  const Limits& said = environment.limits;
  const bool free = limits->core_policy_free;
  if (environment.has_policy &&
      (free || Strictness(said.core_policy) > Strictness(limits->core_policy))) {
    limits->core_policy = said.core_policy;
  }
  if (environment.has_priority && (free || said.priority > limits->priority)) {
    limits->priority = said.priority;
  }
  if (limits->region[0] == '\0') Copy(Text(said.region), limits->region, sizeof(limits->region));
  limits->log_level = said.log_level;
  Copy(Text(said.warning), limits->warning, sizeof(limits->warning));
}

// A program with another user's rights must open no file that its caller may have placed.
void FindInRegion(const char* directory, const Environment& environment, Limits* limits) {
  limits->source = Source::kNone;
  limits->count = 0;
  if (getauxval(AT_SECURE) != 0) return;
  const bool named = environment.has_region;
  if (named && ReadLimitsOfRegion(limits->region, environment, limits)) return;
  const bool is_beside = FindRegion(directory, limits);
  if (is_beside || !named) ReadLimitsOfRegion(limits->region, environment, limits);
}

// This library's directory, as the loader names it; "": the path does not show it.
void OwnDirectory(char* directory, size_t size) {
  Object self;
  const Text path(ObjectOf(reinterpret_cast<const void*>(&TheLimits), &self) ? self.name() : "");
  size_t end = path.size;
  while (end > 0 && path.data[end - 1] != '/') --end;
  Copy(path.StartsWith("/") && end < size ? path.Until(end) : Text(), directory, size);
}

}  // namespace

void FindLimits(const LimitPaths& places, Environment* environment, Limits* limits) {
  ParseEnvironment(places.variable, environment, places.region);
  *limits = {};
  const Mounts mounts(places.loads, places.mounts);
  if (ReadFile(places.file, places.closed, mounts, limits)) {
    Combine(*environment, limits);
  } else {
    *limits = environment->limits;
    if (!environment->has_limits) FindInRegion(places.directory, *environment, limits);
  }
  ReadPolicy(places.no_limits, places.closed, mounts, limits);
}

const Limits& TheLimits() {
  static constinit std::atomic<const Limits*> found{nullptr};
  static constinit Limits no_memory{.broken = true, .reason = "no memory to read the limits"};
  const Limits* limits = found.load(std::memory_order_acquire);
  if (limits != nullptr) return *limits;
  // Threads that race here all read the limits, and the first result is kept. A lock would stay
  // locked in a child that is forked meanwhile. Not on the stack, since the thread may be small.
  struct Looked {
    Limits limits;
    Environment environment;
    char directory[sizeof(Limits::region)];
  };
  void* const memory =
      mmap(nullptr, sizeof(Looked), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return no_memory;
  Looked* const looked = static_cast<Looked*>(memory);
  OwnDirectory(looked->directory, sizeof(looked->directory));
  FindLimits({.variable = [](const char* name) -> const char* { return secure_getenv(name); },
              .directory = looked->directory,
              .closed = kClosed},
             &looked->environment, &looked->limits);
  if (found.compare_exchange_strong(limits, &looked->limits, std::memory_order_acq_rel)) {
    return looked->limits;
  }
  munmap(memory, sizeof(Looked));
  return *limits;
}

}  // namespace tessera::limiter
