// SPDX-License-Identifier: Apache-2.0
// Keeps one thing about the node as it should be, such as a condition or labels: written when that
// changes, and looked at now and then, for somebody may have changed it. While the API server
// cannot be reached, the newest desired waits. One thread: its loop's.
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
    Duration look = kLook;  // how often somebody may have changed it is looked at
  };
  // What makes `node`, as the API server has it, as it should be; nothing where it is. Asked again
  // of the node as it was written.
  using DesiredState = std::function<std::optional<json::Value>(const json::Value& node)>;

  // The client outlives it.
  NodeKeeper(os::Loop& loop, Client& client, const std::string& node, Target target,
             Backoff retries = kRetries);

  // No desired: it is left as it is.
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
  bool changed_ = false;  // since the desired was last compared with the node
  std::string refusal_;   // why it cannot be written, as the log last said
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::kube
