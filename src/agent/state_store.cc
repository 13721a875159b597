// SPDX-License-Identifier: Apache-2.0
#include "agent/state_store.h"

#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {

bool StateStore::TryToBecomeWriter() {
  if (writer()) return false;
  auto made = os::MakeDirectories(directory_);
  auto lock = made ? os::FileLock::Take(directory_ + "/lock") : Fail(made.error());
  if (lock) {
    lock_ = *std::move(lock);
    refusal_.clear();
    return true;
  }
  if (lock.error().message != refusal_) {
    refusal_ = lock.error().message;
    log::Warn("not the writer of the state", lock.error(), {{"directory", directory_}});
  }
  return false;
}

SavedState StateStore::Load() {
  auto text = os::ReadFile(path());
  if (!text) {
    if (text.error().reason != Reason::kNotFound) log::Warn("cannot read the state", text.error());
    return {};
  }
  auto state = ParseState(*text);
  if (state) return *std::move(state);
  log::Warn("the saved state is not used", state.error().In(path()));
  if (writer()) {
    std::string aside =
        path() + (state.error().reason == Reason::kStateNewer ? ".newer" : ".corrupt");
    if (rename(path().c_str(), aside.c_str()) != 0) {
      log::Warn("cannot set the state aside", SystemError(aside, errno));
    }
  }
  return {};
}

Status StateStore::Save(const SavedState& state) {
  if (!writer()) return {};
  return os::WriteFileAtomically(path(), WriteState(state));
}

}  // namespace tessera::agent
