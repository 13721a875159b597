// SPDX-License-Identifier: Apache-2.0
// The agent's part in sharing a GPU's time: reports each container's GPU time to the others. The
// caller owns it. A thread of its own does the work, until it is destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

namespace tessera::limiter {

// The containers' regions are the files "0.cache", "1.cache" and so on in `directory`. The GPU
// `uuid` is the only device in each.
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
