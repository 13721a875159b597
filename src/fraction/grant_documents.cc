// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_documents.h"

#include <sys/stat.h>

#include "os/files.h"

namespace tessera {

void GrantDocuments::Renew(const std::string& path) {
  const MutexLock lock(mutex_);
  sights_[path] = {.since = clock_.Now()};
}

// Holds the lock until the file is gone. Otherwise Sweep could remove a document that another
// thread has just renewed.
void GrantDocuments::Sweep(const std::string& path, bool over) {
  const MutexLock lock(mutex_);
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) {
    sights_.erase(path);
    return;
  }
  constexpr int64_t kSecond = 1'000'000'000;
  const std::pair<uint64_t, int64_t> written{file.st_ino,
                                             file.st_mtim.tv_sec * kSecond + file.st_mtim.tv_nsec};
  const auto [known, first] = sights_.try_emplace(path, Sight{.since = clock_.Now()});
  Sight& sight = known->second;
  if (sight.written && sight.written != written) sight.since = clock_.Now();
  sight.written = written;
  if (!over && clock_.Now() - sight.since < kKept) return;
  if (os::RemoveFile(path)) sights_.erase(known);
}

void GrantDocuments::Remove(const std::string& path) {
  const MutexLock lock(mutex_);
  (void)os::RemoveFile(path);
  sights_.erase(path);
}

}  // namespace tessera
