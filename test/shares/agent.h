// SPDX-License-Identifier: Apache-2.0
// What the agent does for containers that share a GPU's time: a thread of its own, until it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

namespace tessera::limiter {

// The containers' regions are files of the directory that are named by numbers: "0.cache". Each
// has the GPU alone.
class Agent {
 public:
  Agent(std::string directory, std::string uuid, size_t containers);
  ~Agent() { ends_ = true; }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

 private:
  void Run();

  const std::string directory_;
  const std::string uuid_;
  const size_t containers_;
  std::atomic<bool> ends_ = false;
  std::jthread thread_;
};

}  // namespace tessera::limiter
