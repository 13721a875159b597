// SPDX-License-Identifier: Apache-2.0
// Resolves a host's addresses on its own thread, because the system's resolver may wait for a name
// server. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/loop.h"

namespace tessera::http {

class Lookup {
 public:
  // At least one address, or kUnavailable with the resolver's text.
  using Answer = std::function<void(Result<std::vector<std::string>>)>;

  // Destruction before the answer cancels the callback. The thread ends by itself.
  Lookup(os::Loop& loop, const std::string& name, Answer answer);

 private:
  struct Shared;  // shared with the thread
  std::shared_ptr<Shared> shared_;
  os::Loop::Handle told_;
};

}  // namespace tessera::http
