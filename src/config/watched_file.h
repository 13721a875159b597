// SPDX-License-Identifier: Apache-2.0
// The configuration while a program runs: read anew when its file changes (the symbolic link swaps
// of a ConfigMap included) and on SIGHUP. One thread: the loop's.
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
  // The file of the configuration, read anew whenever it changes. Empty: there is none.
  std::string file;
  std::vector<std::string> further_files{};  // that count beside it; none need be there
  bool may_be_absent = false;                // the program starts without it
  // Reads the configuration, in whatever format, with everything that overrides it; the file is not
  // named when it may be absent and has not been there. Called on the loop's thread.
  std::function<LoadResult(const std::optional<std::string>& file)> load;
};

class WatchedFile {
 public:
  // `loaded` gets every later reading that differs from the one before, good or bad.
  WatchedFile(os::Loop& loop, FileOptions options, std::function<void(const LoadResult&)> loaded);

  // The first reading; of a file that has been there before and is gone, an error, as where its
  // format is another one: a file that an editor has just emptied reads as one.
  LoadResult Read();
  // Begins to watch. Where no file is named there is only SIGHUP.
  void Watch();

  // Reads it anew: what it comes to on this node may be another.
  void Reload();

 private:
  void PollAgain();
  void Changed();
  void Gone();
  std::vector<Result<std::string>> FurtherTexts() const;

  os::Loop& loop_;
  const FileOptions options_;
  const std::function<void(const LoadResult&)> loaded_;
  Result<std::string> text_ = std::string();          // as read the last time
  std::vector<Result<std::string>> further_texts_{};  // likewise
  bool had_file_ = false;
  std::optional<std::string> format_;  // LoadResult::taken_for of the last good reading of it
  std::unique_ptr<os::DirectoryWatch> watch_;
  os::Loop::Handle hangup_;
  os::Loop::Handle poll_;
  os::Loop::Handle swap_;  // while the file may be missing
};

}  // namespace tessera::config
