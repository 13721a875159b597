// SPDX-License-Identifier: Apache-2.0
// A fake of kubelet's pod-resources API (v1), on a Unix socket. The test sets its answers. Any
// thread may call it; gRPC's threads serve.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/holding.h"

namespace tessera::fake {

struct PodResourcesAnswer {
  std::vector<Holding> holdings{};  // List answers one pod entry for each
  // Resource -> ids. Nothing: GetAllocatableResources is unimplemented, as in an older kubelet.
  std::optional<std::map<std::string, std::vector<std::string>>> allocatable{};
};

class PodResources {
 public:
  // Answers with no holdings and no allocatable devices until Set.
  explicit PodResources(const std::string& socket_path);
  // Ends Hold, cancels calls that have not ended, and closes the socket.
  ~PodResources();

  void Set(PodResourcesAnswer answer);
  // Calls of List wait from now on, until LetGo.
  void Hold();
  void LetGo();
  // The number of calls of List so far, held ones too.
  int lists() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fake
