// SPDX-License-Identifier: Apache-2.0
// The state files, and the lock of their single writer. During a rolling update two instances run.
// The one without the lock serves from memory, and takes over when the other ends.
//
//   state.jsonl     facts: replaced as a whole, synced to the disk
//   verdicts.jsonl  a log of this boot's verdicts: appended before kubelet gets the list, not
//                   synced; it must survive the process, but means nothing after a reboot
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
  // `unusable` is called for every file that the writer sets aside. An instance without the lock
  // calls it too, but leaves the file.
  explicit StateStore(
      std::string directory, std::function<void(Reason)> unusable = [](Reason) {})
      : directory_(std::move(directory)), unusable_(std::move(unusable)) {}

  // Makes the directory and tries to become the writer. True if this call succeeded.
  bool TryToBecomeWriter();
  bool writer() const { return lock_.has_value(); }
  // Another process had the lock at the last try.
  bool another_writes() const { return !writer() && locked_; }
  // Why it is not the writer; nothing: it is.
  const std::optional<Error>& refusal() const { return refusal_; }

  // The saved state; nothing or empty if there is none. An unusable file is logged and counts as
  // absent; the writer renames it to NAME.newer or NAME.corrupt. A torn log is logged too.
  std::optional<Facts> LoadFacts();
  Verdicts LoadVerdicts(std::string_view boot_id);

  // The rest is for the writer alone.
  Status SaveFacts(const DeviceList& devices, const Cordons& cordons, const Plans& plans);
  // Replaces the log. `text`: the header, and one line for every verdict.
  Status RewriteVerdicts(const std::string& text);
  // Appends lines to the open log: all of them or, on an error, none.
  Status AppendVerdicts(const std::string& lines);
  // True if AppendVerdicts can work: this process began the log, and the file still exists.
  bool log_open() const;
  // True if the log is much larger than at its beginning: it should be rewritten.
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
  bool locked_ = false;           // another process had the lock at the last try
  std::optional<Error> refusal_;  // why it is not the writer, logged once
  os::Fd log_;                    // verdicts.jsonl; closed: it must be rewritten
  size_t log_size_ = 0;
  size_t log_base_ = 0;  // log_size_ after the last rewrite
};

}  // namespace tessera::agent
