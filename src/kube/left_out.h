// SPDX-License-Identifier: Apache-2.0
// Objects of a list with a state that is not kept, because it is unreadable or there is no room.
// Each is logged once, at a readable rate. One thread: its owner's.
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
  static constexpr size_t kMost = 1'000;  // objects that are counted and logged

  // `what` is the log line, such as "a pod's change is ignored".
  explicit LeftOut(std::string what);

  void Add(const std::string& key, const Error& error);
  // The object is kept again, or gone.
  void Remove(const std::string& key) { objects_.erase(key); }
  size_t size() const { return objects_.size(); }

  // A new list starts. At its end, objects not added again are removed.
  void BeginList() { ++list_; }
  void EndList();

 private:
  struct Object {
    uint64_t list = 0;  // in which it was last added
    bool said = false;  // false: a later state may be logged
  };

  const std::string what_;
  std::map<std::string, Object> objects_;
  uint64_t list_ = 0;
  RateLimit says_;
};

}  // namespace tessera::kube
