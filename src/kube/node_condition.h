// SPDX-License-Identifier: Apache-2.0
// Keeps one condition of the node as it should be: written when it changes, and looked at now and
// then, for somebody may have taken it away. While the API server cannot be reached, the newest
// wish waits. One thread: its loop's.
#pragma once

#include <optional>
#include <string>

#include "base/backoff.h"
#include "kube/client.h"
#include "kube/condition.h"
#include "os/alarm.h"
#include "os/loop.h"

namespace tessera::kube {

class NodeCondition {
 public:
  static constexpr Backoff kRetries{Duration(1'000), Duration(15'000)};
  static constexpr Duration kLook{300'000};

  // The client outlives it.
  NodeCondition(os::Loop& loop, Client& client, std::string node, Backoff retries = kRetries);

  void Set(Condition wanted);

 private:
  void Compare();
  void Write(const json::Value& node);
  void Done(const Status& status);

  Client& client_;
  const std::string path_;
  std::optional<Condition> wanted_;
  bool busy_ = false;
  bool changed_ = false;  // while it was busy
  std::string refusal_;   // why it cannot be written, as the log last said
  Backoff retries_;
  os::Alarm again_;
};

}  // namespace tessera::kube
