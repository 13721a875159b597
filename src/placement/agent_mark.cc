// SPDX-License-Identifier: Apache-2.0
#include "placement/agent_mark.h"

#include <vector>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kLateBound = "late-bound";

}  // namespace

std::string WriteAgentMark(const AgentMark& mark) {
  std::string text = mark.version;
  if (mark.late_bound) text.append(" ").append(kLateBound);
  return text;
}

AgentMark ReadAgentMark(std::string_view text) {
  const std::vector<std::string> words = Split(text, ' ');
  AgentMark mark;
  if (!words.empty()) mark.version = words.front();
  for (size_t i = 1; i < words.size(); ++i) mark.late_bound |= words[i] == kLateBound;
  return mark;
}

}  // namespace tessera
