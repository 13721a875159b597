// SPDX-License-Identifier: Apache-2.0
// Objects of a list whose present state is not kept, since it cannot be read or there is no room:
// the log says so once of each, and not more often than anybody can read. One thread: its owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "base/rate_limit.h"

namespace tessera::kube {

class LeftOut {
 public:
  static constexpr size_t kMost = 1'000;  // that are counted, and named

  // `what`: the log's line, such as "a pod is left as it was".
  explicit LeftOut(std::string what);

  void Add(const std::string& key, const Error& error);
  // It is kept, or gone.
  void Remove(const std::string& key) { objects_.erase(key); }
  size_t size() const { return objects_.size(); }

  // A list is read anew; when it has ended, who was not added again is none.
  void BeginList() { ++list_; }
  void EndList();

 private:
  struct Object {
    uint64_t list = 0;  // that it was added in last
    bool said = false;  // else it is said of a later state of it
  };

  const std::string what_;
  std::map<std::string, Object> objects_;
  uint64_t list_ = 0;
  RateLimit says_;
};

}  // namespace tessera::kube
