// SPDX-License-Identifier: Apache-2.0
// How an agent marks its node for a scheduler: an annotation with its version and what it can do,
// "0.1.0 late-bound". A node without it has another plugin. Pure; plain data; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

inline constexpr std::string_view kAgentMark = "tessera.dev/agent";

struct AgentMark {
  std::string version{};
  // Kubelet says which container a grant is for: pods may be bound to the node at the same time,
  // without a lock.
  bool late_bound = false;
  // Pods that no scheduler has placed get what is free.
  bool fits_unplaced = false;
  bool operator==(const AgentMark&) const = default;
};

std::string WriteAgentMark(const AgentMark& mark);
// Words that are not known are passed over: those of later agents.
AgentMark ReadAgentMark(std::string_view text);

}  // namespace tessera
