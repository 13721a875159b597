// SPDX-License-Identifier: Apache-2.0
// The state files and the lock that names their one writer. Two instances may run at once (a
// rolling update): the one without the lock serves from memory and takes over when the other ends.
//
//   state.jsonl     facts: replaced as a whole, synced to the disk
//   verdicts.jsonl  a log of this boot's verdicts: appended to before kubelet is told, not synced,
//                   for it need only outlive the process; with the kernel it means nothing
//
// One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "node/state.h"
#include "os/fd.h"
#include "os/lock.h"

namespace tessera::agent {

class StateStore {
 public:
  // `unusable` is told of every file that is set aside, or would be by the writer.
  explicit StateStore(
      std::string directory, std::function<void(Reason)> unusable = [](Reason) {})
      : directory_(std::move(directory)), unusable_(std::move(unusable)) {}

  // Makes the directory and tries to become the writer. True when this call made it so.
  bool TryToBecomeWriter();
  bool writer() const { return lock_.has_value(); }
  // Another process was the writer when this one tried last.
  bool another_writes() const { return !writer() && locked_; }
  // Why it is not the writer, if so.
  const std::optional<Error>& refusal() const { return refusal_; }

  // What the files say; nothing when there are none. A file that cannot be used is renamed to
  // NAME.newer or NAME.corrupt by the writer, logged, and counts as none. A log that is torn is
  // logged as well.
  std::optional<Facts> LoadFacts();
  Verdicts LoadVerdicts(std::string_view boot_id);

  // What follows is for the writer alone.
  Status SaveFacts(const DeviceList& devices, const Cordons& cordons, const Plans& plans);
  // Begins the log anew: `text` is the header and a line for every verdict.
  Status RewriteVerdicts(const std::string& text);
  // Appends lines to the open log: all of them or, where that fails, none.
  Status AppendVerdicts(const std::string& lines);
  // Whether it can be appended to: it was begun by this process, and nobody has removed it.
  bool log_open() const;
  // Far beyond what it began with: to be rewritten when that can be.
  bool LogHasGrown() const;

 private:
  std::string facts_path() const { return directory_ + "/state.jsonl"; }
  std::string verdicts_path() const { return directory_ + "/verdicts.jsonl"; }
  void RemoveLeftovers();
  template <class Parsed, class Parse>
  std::optional<Parsed> Load(const std::string& path, Parse parse);

  const std::string directory_;
  const std::function<void(Reason)> unusable_;
  std::optional<os::FileLock> lock_;
  bool locked_ = false;           // by another, at the last try
  std::optional<Error> refusal_;  // for not being the writer, logged once
  os::Fd log_;                    // verdicts.jsonl, while it can be appended to
  size_t log_size_ = 0;
  size_t log_base_ = 0;  // its size when it was begun
};

}  // namespace tessera::agent
