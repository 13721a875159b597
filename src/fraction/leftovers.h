// SPDX-License-Identifier: Apache-2.0
// What containers that have ended left on the node. A grant's directory is put aside first, by
// another name beside the others, so that nothing of the grant waits for its removal: a million
// files take a while, and what another user has locked up may stay. What stays is tried again, ever
// less often; the next agent finds it by its name. Any thread; it waits for disks.
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

  // Gives a directory, or what a container has put in its place, a name of which no grant knows.
  // Nothing there is fine.
  static Status PutAside(const std::string& path);
  // Removes what was put aside in these directories, as far as it is due. One thread at a time: who
  // comes meanwhile goes without.
  void Remove(const std::set<std::string>& directories);
  // All of it; why the first of what stays does.
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
  std::map<std::string, Attempt> attempts_ TESSERA_GUARDED_BY(mutex_);  // that failed, by path
};

// The directories in which those lie that containers write in, of all resources with virtual GPUs.
std::set<std::string> ContainersDirectories(const config::Config& config);

// The paths of what was put aside in these directories.
std::set<std::string> AsideIn(const std::set<std::string>& directories);

}  // namespace tessera
