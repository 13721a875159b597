// SPDX-License-Identifier: Apache-2.0
// The state file and the lock that names its one writer. Two instances may run at once (a rolling
// update): the one without the lock serves from memory and takes over when the other ends. One
// thread.
#pragma once

#include <optional>
#include <string>

#include "agent/state.h"
#include "os/lock.h"

namespace tessera::agent {

class StateStore {
 public:
  explicit StateStore(std::string directory) : directory_(std::move(directory)) {}

  // Makes the directory and tries to become the writer. True when this call made it so.
  bool TryToBecomeWriter();
  bool writer() const { return lock_.has_value(); }

  // What the file says; an empty state when there is none. A file that cannot be used is renamed to
  // state.json.newer or .corrupt by the writer, logged, and counts as none.
  SavedState Load();

  // Writes the file, synced; does nothing without the lock. After a failure the next call tries
  // again.
  Status Save(const SavedState& state);

 private:
  std::string path() const { return directory_ + "/state.json"; }

  std::string directory_;
  std::optional<os::FileLock> lock_;
  std::string refusal_;  // the last reason for not being the writer, logged once
};

}  // namespace tessera::agent
