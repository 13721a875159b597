// SPDX-License-Identifier: Apache-2.0
// A host's addresses, asked of the system's resolver on a thread of its own, since that may wait
// for a name server. One thread: the loop's.
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
  // At least one address literal, or kUnavailable with the resolver's words.
  using Answer = std::function<void(Result<std::vector<std::string>>)>;

  // Destroying it before the answer came means that nobody is called; the thread ends by itself.
  Lookup(os::Loop& loop, const std::string& name, Answer answer);

 private:
  struct Shared;  // with the thread
  std::shared_ptr<Shared> shared_;
  os::Loop::Handle told_;
};

}  // namespace tessera::http
