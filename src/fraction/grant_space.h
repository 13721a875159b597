// SPDX-License-Identifier: Apache-2.0
// What containers take of the node's disk by the directories that the agent gives them: kubelet
// does not count it. A region is all that belongs there; of more than kMost, all but the regions
// is removed. Any thread; it waits for disks.
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
  static constexpr Duration kLook{2'000};  // at one directory
  static constexpr Duration kCut{5'000};   // the same

  uint64_t bytes = 0;  // of the disk, at least; with the directory's own
  // What was too much, and what was done; nothing where it was not.
  std::optional<std::string> cut{};
};
// `regions`: the names of the files that are kept, at their own size.
SpaceUse TrimDirectory(const std::string& directory, const std::set<std::string>& regions);

// Several threads may look at once: a container that writes one file for long, or lists its
// directory slowly, holds up who cuts that one back. The others' are taken up by the next look.
class GrantSpace {
 public:
  // After it, the other directories wait for the next look.
  static constexpr Duration kWhole{10'000};
  // Directories that hold up a thread each. With so many, there is no look.
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

  // At the directories of all grants but those that another thread is at, and at what was put aside
  // (leftovers.h) in these. Nothing where kMostHeld threads are at it.
  std::optional<SpaceReport> CheckDirectories(const std::set<std::string>& containers);

 private:
  // The regions of each directory that a container writes in, and one of its grants.
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
  Mutex mutex_;  // of what follows; nobody waits for a disk with it
  std::map<std::string, uint64_t> bytes_ TESSERA_GUARDED_BY(mutex_);  // by directory
  std::set<std::string> looked_at_ TESSERA_GUARDED_BY(mutex_);        // at this moment
  std::string next_ TESSERA_GUARDED_BY(mutex_);                       // directory to begin with
};

}  // namespace tessera
