// SPDX-License-Identifier: Apache-2.0
// The annotation by which an agent marks its node for schedulers: its version and abilities, "0.1.0
// late-bound". A node without it has another plugin. Pure. Plain data. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

inline constexpr std::string_view kAgentMark = "tessera.dev/agent";

struct AgentMark {
  std::string version{};
  // Kubelet names the container of each grant, so several pods may be bound to the node at once,
  // without a lock.
  bool late_bound = false;
  // The agent places pods that no scheduler has placed.
  bool fits_unplaced = false;
  bool operator==(const AgentMark&) const = default;
};

std::string WriteAgentMark(const AgentMark& mark);
// Ignores unknown words, which later agents may write.
AgentMark ReadAgentMark(std::string_view text);

}  // namespace tessera
