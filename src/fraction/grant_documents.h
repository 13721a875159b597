// SPDX-License-Identifier: Apache-2.0
// When the CDI documents of grants go. A runtime needs a container's document until it has made the
// container, and PreStart writes it anew before the container is made again; but a runtime parses
// all documents whenever one comes or goes. So a document stays for five minutes. Owned by the
// binder. Any thread.
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

  // To be called before the document is written or is found to be still right.
  void Renew(const std::string& path);
  // Removes it once it is old. `over`: no container is made from it any more. One that another
  // instance has written is as old as this one's first sight of it.
  void Sweep(const std::string& path, bool over);
  void Remove(const std::string& path);

 private:
  struct Sight {
    Steady since{};
    // The file's number and its time, ns; none: not looked at since Renew.
    std::optional<std::pair<uint64_t, int64_t>> written{};
  };

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Sight> sights_ TESSERA_GUARDED_BY(mutex_);  // of files that are there
};

}  // namespace tessera
