// SPDX-License-Identifier: Apache-2.0
// What goes wrong with the GPUs of the fake NVML while it runs: a YAML file that is read again
// whenever it has changed. Whoever writes it replaces it whole, by renaming: a reader sees the old
// file or the new one.
//
//   driver: {fail: {nvmlInit_v2: 9}, hang: [nvmlInit_v2], slow: 5}   # whichever GPU is meant
//   gpus:
//     3: {lost: true}                     # fallen off the bus
//     4: {reset-required: true}
//     5: {hang: all, slow: 20}            # calls; slow in milliseconds
//     6: {fail: {nvmlDeviceGetUUID: 999}} # or all
//     7: {ecc: 2, remap: {pending: 1, failed: 0}, retired: true, clocks: 64, links-down: [0]}
//   events:                               # only ever added to while a process listens
//   - {gpu: 3, xid: 79}
//   - {gpu: 0, xid: 43, gi: 1, ci: 0}
//   - {gpu: 2, type: 2}                   # a double-bit ECC error
//   no-dxg: true                          # on WSL /dev/dxg is not there
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/api.h"

namespace tessera::nvml {

// Of the calls about one GPU, or of all. "all" stands for every function.
struct CallFaults {
  bool none() const { return fail.empty() && hang.empty() && slow_ms == 0; }
  std::map<std::string, Return> fail;
  std::set<std::string> hang;
  int slow_ms = 0;

  // What the call answers instead; kSuccess: what it should.
  Return FailureOf(const std::string& function) const;
  bool Hangs(const std::string& function) const;
};

struct GpuFaults {
  CallFaults calls;
  uint64_t ecc_uncorrected = 0;
  unsigned remap_pending = 0;
  unsigned remap_failed = 0;
  bool retired_pending = false;
  uint64_t clock_reasons = 0;
  std::set<unsigned> links_down;
};

struct FaultEvent {
  unsigned gpu = 0;
  uint64_t type = kXidCriticalError;
  uint64_t xid = 0;
  unsigned gpu_instance = kNoInstance;
  unsigned compute_instance = kNoInstance;
};

struct Faults {
  CallFaults driver;
  std::map<unsigned, GpuFaults> gpus;
  std::vector<FaultEvent> events;
  bool no_dxg = false;

  const GpuFaults& Of(unsigned gpu) const;
};

// Throws std::runtime_error, with the place in the text; so for any key or function that is none.
Faults ParseFaults(const std::string& yaml);

// Tells a file that was replaced from the one that it was. One that is not there has a state, too.
struct FileState {
  ino_t inode = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};

// Without a C++ stream, whose first one in a process is slow to make. False when it cannot be read.
bool ReadText(const std::string& path, std::string& text);

// The changes of a directory's files, for a question that every call asks. Any thread.
class DirectoryChanges {
 public:
  explicit DirectoryChanges(const std::string& path);
  ~DirectoryChanges();
  DirectoryChanges(const DirectoryChanges&) = delete;
  DirectoryChanges& operator=(const DirectoryChanges&) = delete;
  // Another number than before when there may have been one since. What a link of another
  // directory points to is not seen.
  uint64_t Count();
  // For who has been told of a change by other means, which may be quicker.
  void Suspect();

 private:
  const int inotify_;
  std::mutex mutex_;               // of who reads what the kernel tells
  std::atomic<bool> told_ = true;  // the kernel tells of changes; else each question counts as one
  std::atomic<uint64_t> count_ = 0;
};

// A file in a directory whose changes are known. Any thread.
class WatchedFile {
 public:
  WatchedFile(std::string path, std::shared_ptr<DirectoryChanges> changes);
  FileState Now();

 private:
  const std::string path_;
  const std::shared_ptr<DirectoryChanges> changes_;
  std::shared_mutex mutex_;  // guards what follows
  uint64_t seen_ = UINT64_MAX;
  FileState state_;
};

// Any thread.
class FaultFile {
 public:
  FaultFile(std::string path, std::shared_ptr<DirectoryChanges> changes)
      : path_(std::move(path)), file_(path_, std::move(changes)) {}
  // As the file is now; without one nothing is wrong. One that is no YAML counts as it was.
  std::shared_ptr<const Faults> Now();
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  WatchedFile file_;
  std::shared_mutex mutex_;  // guards what follows
  FileState read_;
  std::shared_ptr<const Faults> faults_ = std::make_shared<Faults>();
};

}  // namespace tessera::nvml
