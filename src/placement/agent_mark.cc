// SPDX-License-Identifier: Apache-2.0
#include "placement/agent_mark.h"

#include <vector>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kLateBound = "late-bound";
constexpr std::string_view kFitsUnplaced = "fits-unplaced";

}  // namespace

std::string WriteAgentMark(const AgentMark& mark) {
  std::string text = mark.version;
  if (mark.late_bound) text.append(" ").append(kLateBound);
  if (mark.fits_unplaced) text.append(" ").append(kFitsUnplaced);
  return text;
}

AgentMark ReadAgentMark(std::string_view text) {
  const std::vector<std::string> words = Split(text, ' ');
  AgentMark mark;
  if (!words.empty()) mark.version = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    mark.late_bound |= words[i] == kLateBound;
    mark.fits_unplaced |= words[i] == kFitsUnplaced;
  }
  return mark;
}

}  // namespace tessera
