// SPDX-License-Identifier: Apache-2.0
// kubelet's pod-resources API on a socket, which answers as the test says. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/holding.h"

namespace tessera::fake {

// What kubelet would say.
struct PodResourcesAnswer {
  std::vector<Holding> holdings{};  // each in an entry of its own
  // Resource -> healthy ids; nothing: kubelet refuses to say.
  std::optional<std::map<std::string, std::vector<std::string>>> allocatable{};
};

class PodResources {
 public:
  // Answers that nobody holds anything, and that there is nothing to hold.
  explicit PodResources(const std::string& socket_path);
  // Calls that are under way fail, and the socket is gone.
  ~PodResources();

  void Set(PodResourcesAnswer answer);
  // Nothing is answered from now on, until it is let go.
  void Hold();
  void LetGo();
  // How often List was asked so far.
  int lists() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fake
