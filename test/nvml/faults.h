// SPDX-License-Identifier: Apache-2.0
// The faults of the fake NVML's GPUs: a YAML file that the library reads again after each change.
// The writer must replace it by renaming, so that a reader sees the old file or the new one.
//
//   driver: {fail: {nvmlInit_v2: 9}, hang: [nvmlInit_v2], slow: 5}   # calls about any GPU
//   gpus:
//     3: {lost: true}                     # fallen off the bus
//     4: {reset-required: true}
//     5: {hang: all, slow: 20}            # calls; slow in milliseconds
//     6: {fail: {nvmlDeviceGetUUID: 999}} # or all
//     7: {ecc: 2, remap: {pending: 1, failed: 0}, retired: true, clocks: 64, links-down: [0]}
//     0: {ecc-corrected: 9, remap: {corrected: 3, uncorrected: 1}}   # without: as many as pending
//   events:                               # while a process listens, only append
//   - {gpu: 3, xid: 79}
//   - {gpu: 0, xid: 43, gi: 1, ci: 0}
//   - {gpu: 2, type: 2}                   # a double-bit ECC error
//   no-dxg: true                          # on WSL: /dev/dxg does not exist
//
// An event set counts the events that it has read. So a listener would miss events if the writer
// removed earlier ones.
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

// The faults of the calls about one GPU, or of all calls. The key "all" means every function.
struct CallFaults {
  bool none() const { return fail.empty() && hang.empty() && slow_ms == 0; }
  std::map<std::string, Return> fail;
  std::set<std::string> hang;
  int slow_ms = 0;

  // The error that the call must return; kSuccess: none.
  Return FailureOf(const std::string& function) const;
  bool Hangs(const std::string& function) const;
};

struct GpuFaults {
  CallFaults calls;
  uint64_t ecc_corrected = 0;
  uint64_t ecc_uncorrected = 0;
  unsigned remap_corrected = 0;
  unsigned remap_uncorrected = 0;
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

// Throws std::runtime_error, with the line, for broken YAML and for any unknown key or function.
Faults ParseFaults(const std::string& yaml);

// Identifies one version of a file. All zeros: there is no file.
struct FileState {
  ino_t inode = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};

// Appends the file's text. False if it cannot be read. Uses no C++ stream, because the first one in
// a process is slow.
bool ReadText(const std::string& path, std::string& text);

// Counts the changes of a directory's files, by inotify. Every call of NVML asks for the count, so
// it takes no lock while there is no change. Any thread.
class DirectoryChanges {
 public:
  explicit DirectoryChanges(const std::string& path);
  ~DirectoryChanges();
  DirectoryChanges(const DirectoryChanges&) = delete;
  DirectoryChanges& operator=(const DirectoryChanges&) = delete;
  // Differs from the last count if a file may have changed since. Does not see changes of a file in
  // another directory, to which a link here points.
  uint64_t Count();
  // Counts a change that the caller saw by other means, perhaps before inotify reports it here.
  void Suspect();

 private:
  const int inotify_;
  std::mutex mutex_;               // held by the thread that reads events
  std::atomic<bool> told_ = true;  // false: inotify reports no more, so each Count is a change
  std::atomic<uint64_t> count_ = 0;
};

// A file in a watched directory. Any thread.
class WatchedFile {
 public:
  WatchedFile(std::string path, std::shared_ptr<DirectoryChanges> changes);
  FileState Now();

 private:
  const std::string path_;
  const std::shared_ptr<DirectoryChanges> changes_;
  std::shared_mutex mutex_;     // guards the members below
  uint64_t seen_ = UINT64_MAX;  // the count before the last stat()
  FileState state_;
};

// The fault file, parsed. Any thread.
class FaultFile {
 public:
  FaultFile(std::string path, std::shared_ptr<DirectoryChanges> changes)
      : path_(std::move(path)), file_(path_, std::move(changes)) {}
  // The faults as the file is now; no faults without a file. Broken YAML keeps the last faults, and
  // is reported on stderr.
  std::shared_ptr<const Faults> Now();
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  WatchedFile file_;
  std::shared_mutex mutex_;  // guards the members below
  FileState read_;           // the version that faults_ is from
  std::shared_ptr<const Faults> faults_ = std::make_shared<Faults>();
};

}  // namespace tessera::nvml
