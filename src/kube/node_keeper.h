// SPDX-License-Identifier: Apache-2.0
// Keeps one part of the node in its desired state, such as a condition or labels. It writes when
// the desired state changes and checks at intervals, because others may change the node. While the
// API server is unreachable, only the newest desired state is kept. One thread: the loop's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "kube/client.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

class NodeKeeper {
 public:
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};
  static constexpr Duration kLook{300'000};

  struct Target {
    std::string what;         // for the log: "the node's condition"
    std::string subresource;  // "/status", or empty
    PatchType type = PatchType::kMerge;
    Duration look = kLook;  // interval of checks for others' changes
  };
  // The patch that brings `node` to the desired state, or nothing. Called again with the node as
  // written.
  using DesiredState = std::function<std::optional<json::Value>(const json::Value& node)>;

  // The client outlives the keeper.
  NodeKeeper(os::Loop& loop, Client& client, const std::string& node, Target target,
             Backoff retries = kRetries);

  // An empty function leaves the node as it is.
  void Set(DesiredState desired);

 private:
  void CompareNode();
  void Write(const json::Value& node);
  void WriteEnded(const Status& status);

  Client& client_;
  const std::string path_;
  const Target target_;
  DesiredState desired_;
  bool busy_ = false;
  // `desired_` has changed since it was last compared with the node.
  bool changed_ = false;
  std::string refusal_;  // last logged error
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::kube
