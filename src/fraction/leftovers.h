// SPDX-License-Identifier: Apache-2.0
// What ended containers left on the node. A grant's directory is renamed first, beside the others,
// so that no step of the grant waits for its removal: a million files take long, and what another
// user locked may stay. Removal is retried, with growing pauses; the next agent finds the directory
// by its name. Owned by GrantBinder. Any thread; waits for disks.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "config/schema/config.h"

namespace tessera {

class Leftovers {
 public:
  // Between two attempts.
  static constexpr Duration kFirst{60'000};
  static constexpr Duration kLast{3'600'000};

  explicit Leftovers(const Clock& clock) : clock_(clock) {}

  // Renames a directory, or what a container put in its place, to a name of no grant. Succeeds if
  // the path is missing.
  static Status PutAside(const std::string& path);
  // Removes what was put aside in these directories, as far as it is due. One thread at a time: a
  // second one returns at once.
  void Remove(const std::set<std::string>& directories);
  // Removes all of it; the error of the first that stays.
  static Status RemoveAll(const std::set<std::string>& directories);
  // How many could not be removed.
  size_t stuck() const { return stuck_; }

 private:
  struct Attempt {
    Backoff pauses{kFirst, kLast};
    Steady next{};
  };
  void Try(const std::string& path) TESSERA_REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<size_t> stuck_ = 0;
  Mutex mutex_;
  std::map<std::string, Attempt> attempts_ TESSERA_GUARDED_BY(mutex_);  // failed attempts, by path
};

// The parents of container directories, of all resources with virtual GPUs.
std::set<std::string> ContainersDirectories(const config::Config& config);

// The paths of what was put aside in these directories.
std::set<std::string> AsideIn(const std::set<std::string>& directories);

}  // namespace tessera
