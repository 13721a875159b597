// SPDX-License-Identifier: Apache-2.0
// A program's configuration file. It is read again on SIGHUP and whenever it changes, also by a
// ConfigMap's swap of symbolic links. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "os/loop.h"
#include "os/watch.h"

namespace tessera::config {

struct FileOptions {
  // The path of the configuration. Empty: there is no file.
  std::string file;
  std::vector<std::string> further_files{};  // files that count too; each may be missing
  bool may_be_absent = false;                // the program also starts without it
  // Reads the configuration in any format, with all that overrides it. `file` is null if it may be
  // absent and was never there. Called on the loop's thread.
  std::function<LoadResult(const std::optional<std::string>& file)> load;
};

class WatchedFile {
 public:
  // `loaded` gets every later reading, good or bad.
  WatchedFile(os::Loop& loop, FileOptions options, std::function<void(const LoadResult&)> loaded);

  // The first reading. A file that was there before and is gone is an error. So is a change of
  // format, as a file that an editor has just emptied reads as another format.
  LoadResult Read();
  // Starts the watch. Without a file only SIGHUP counts.
  void Watch();

  // Reads the file again, as the result may depend on the node.
  void Reload();

 private:
  void PollAgain();
  void Changed();
  void Gone();
  std::vector<Result<std::string>> FurtherTexts() const;

  os::Loop& loop_;
  const FileOptions options_;
  const std::function<void(const LoadResult&)> loaded_;
  Result<std::string> text_ = std::string();          // as last read
  std::vector<Result<std::string>> further_texts_{};  // as last read
  bool had_file_ = false;
  std::optional<std::string> format_;  // LoadResult::taken_for of the last good reading
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Loop::Handle hangup_;
  os::Loop::Handle poll_;
  os::Loop::Handle swap_;  // while the file may be missing
};

}  // namespace tessera::config
