// SPDX-License-Identifier: Apache-2.0
// Decides when CDI documents of grants are removed. A runtime needs a container's document until it
// has made the container; PreStart writes it again before the container is made again. But a
// runtime parses all documents at every change. So a document stays for five minutes. Owned by
// GrantBinder. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace tessera {

class GrantDocuments {
 public:
  // kubelet gives a runtime two minutes for a call, unless its runtimeRequestTimeout says more.
  static constexpr Duration kKept{300'000};

  // `clock` outlives it.
  explicit GrantDocuments(const Clock& clock) : clock_(clock) {}

  // Call it before the document is written, or found unchanged.
  void Renew(const std::string& path);
  // Removes the document once it is old, or at once if `over`: no container is made from it any
  // more. The age of another instance's document counts from the first look at it.
  void Sweep(const std::string& path, bool over);
  void Remove(const std::string& path);

 private:
  struct Sight {
    Steady since{};
    // Inode and time in ns; nullopt: no look since Renew.
    std::optional<std::pair<uint64_t, int64_t>> written{};
  };

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Sight> sights_ TESSERA_GUARDED_BY(mutex_);  // by path, of existing files
};

}  // namespace tessera
