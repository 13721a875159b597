// SPDX-License-Identifier: Apache-2.0
// The kind of device files. What matches a pattern such as /dev/ttyUSB* is a device, alone or in a
// group (group.h). Its path names it (device_id.h). The container gets it as a device node or a
// mount (describe.h).
//
// - Groups are read in the order of the configuration. A file that already names a device names no
//   second one. Symbolic links to one file are one device.
// - A directory such as /dev/snd is one device, with all device nodes below it. It is good while it
//   has a node. Nodes that appear later are in later grants.
// - A check looks whether every file that the device needs is there and unchanged. It opens no
//   file.
// - inotify reports plugging and unplugging, in directories below wildcards and in directories that
//   are devices.
// - The log names once the files of a group that match no other file.
//
// Owned and threaded as backend.h says. Destroyed after Stop, once no call runs, on any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/file/directory_nodes.h"
#include "backend/file/file_config.h"
#include "backend/file/group.h"
#include "base/mutex.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/watch.h"

namespace tessera {

class FileBackend : public Backend {
 public:
  // `loop` outlives the backend.
  FileBackend(std::string resource, FileConfig config, os::Root root, os::Loop& loop);

  Status Start(BackendEvents& events) override;
  void Stop() override;
  // kScanFailed when a directory that a pattern begins with cannot be read.
  Result<std::vector<Device>> Scan() override;
  Evidence Check(const Device& device) override;

 private:
  // A file as the last scan saw it.
  struct ScannedFile {
    std::string path;
    os::FileInfo::Type type = os::FileInfo::Type::kOther;
    dev_t rdev = 0;
    bool has_nodes = false;  // a directory that stands for the device nodes below it
  };
  // Every match, and the state of the file that it leads to: compared between two looks.
  using FileStates = std::map<std::string, os::FileInfo>;

  Result<std::vector<std::vector<file::Match>>> Matches(const FileConfig::Group& group) const;
  std::vector<ScannedFile> NeededFiles(const FileConfig::Group& group,
                                       const file::Members& members) const;
  std::optional<Evidence> ProblemOf(const ScannedFile& file) const;

  void LogUnpaired(std::vector<std::string> unpaired) TESSERA_REQUIRES(mutex_);

  void CompareStates();
  file::DirectoryNodes NodesBelow(const FileConfig::Path& path, const std::string& match) const;
  FileStates ReadStates() const;
  std::set<std::string> Directories() const;
  void ReportGone();

  const std::string resource_;
  const FileConfig config_;
  const os::Root root_;
  os::Loop& loop_;

  Mutex mutex_;  // events are reported under it, so that none comes after Stop
  BackendEvents* events_ TESSERA_GUARDED_BY(mutex_) = nullptr;
  bool scanned_ TESSERA_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::vector<ScannedFile>> devices_
      TESSERA_GUARDED_BY(mutex_);  // by id: the files that each device needs
  std::vector<std::string> unpaired_
      TESSERA_GUARDED_BY(mutex_);  // files of no device, as last logged

  // The loop's thread only.
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Loop::Handle look_;
  FileStates file_states_;
};

}  // namespace tessera
