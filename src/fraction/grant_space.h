// SPDX-License-Identifier: Apache-2.0
// Bounds the disk that containers take in the directories that the agent gives them, which kubelet
// does not count. Only regions belong there: if a directory is over a bound, all other files are
// removed. Owned by GrantBinder. Any thread; waits for disks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "binding/binding_store.h"
#include "os/files.h"

namespace tessera {

struct SpaceUse {
  static constexpr uint64_t kMost = uint64_t{16} << 20;  // bytes
  static constexpr size_t kMostFiles = 10'000;
  static constexpr int kDeepest = 8;       // directories in one another
  static constexpr Duration kLook{2'000};  // time for one directory
  static constexpr Duration kCut{5'000};   // time for cutting one back

  uint64_t bytes = 0;  // of disk, at least, including the directory's own
  // What was over a bound, and what was done; nullopt: within bounds.
  std::optional<std::string> cut{};
};
// Looks at a directory, and cuts it back if it is over a bound. `regions`: the files to keep, at
// their own size.
SpaceUse TrimDirectory(const std::string& directory, const std::set<std::string>& regions);

// Several threads may look at once. A container that writes one file for long, or lists its
// directory slowly, delays the thread that cuts that directory back. Other directories get the next
// look.
class GrantSpace {
 public:
  // After this time the remaining directories wait for the next look.
  static constexpr Duration kWhole{10'000};
  // The most directories that may each hold up a thread. At this number no look begins.
  static constexpr size_t kMostHeld = 16;

  struct Cut {
    std::string grant;
    BindingRecordPtr record;
    std::string directory;  // as the node has it
    std::string what;
  };
  struct SpaceReport {
    std::vector<Cut> cuts{};
    uint64_t bytes = 0;  // of all, by the last look at each
  };

  // Both outlive it.
  GrantSpace(BindingStore& records, const os::Root& root) : store_(records), root_(root) {}

  // Looks at the directories of all grants, except those where another thread is, and at what was
  // put aside (leftovers.h) in `containers`. nullopt: kMostHeld threads are held up.
  std::optional<SpaceReport> CheckDirectories(const std::set<std::string>& containers);

 private:
  // A directory that a container writes in: its regions, and one of its grants.
  struct ContainerDirectory {
    std::set<std::string> regions;
    std::string grant;
    BindingRecordPtr record;
    std::string directory;  // as the node has it
  };
  std::map<std::string, ContainerDirectory> Directories();
  std::optional<Cut> CheckDirectory(const std::string& directory, const ContainerDirectory& owned);
  bool ClaimDirectory(const std::string& directory);
  void SetNext(const std::string& directory);
  void ReturnDirectory(const std::string& directory, uint64_t bytes);

  BindingStore& store_;
  const os::Root& root_;
  Mutex mutex_;  // of what follows; never held while waiting for a disk
  std::map<std::string, uint64_t> bytes_ TESSERA_GUARDED_BY(mutex_);  // by directory
  std::set<std::string> looked_at_ TESSERA_GUARDED_BY(mutex_);        // by a thread, at this moment
  std::string next_ TESSERA_GUARDED_BY(mutex_);                       // the directory to begin with
};

}  // namespace tessera
