// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ascend/changes.h"
#include "ascend/node.h"
#include "demo/simulator.h"

namespace tessera::ascend {
namespace {

using demo::Lines;

// The id and the model are those that the agent gives the chip.
std::string LineOf(const SimChip& chip) {
  const bool has_die = std::ranges::any_of(chip.die, [](uint32_t word) { return word != 0; });
  const std::string id = has_die ? fmt::format("{:08X}", fmt::join(chip.die, "-"))
                                 : fmt::format("card{}-chip{}", chip.card, chip.device);
  return fmt::format("{} {} {} {}{}", chip.phy, id, chip.memory,
                     chip.name.starts_with("Ascend") ? "" : "Ascend", chip.name);
}

Lines DevicesOf(const SimNode& node) {
  Lines lines;
  for (const SimChip& chip : node.chips) lines.push_back(LineOf(chip));
  return lines;
}

Lines MakeNode(const std::string& directory, const std::string& name, bool only_ask) {
  const SimNode node = NamedNode(name);
  if (!only_ask) const AscendNode made(directory, node);
  return DevicesOf(node);
}

Lines Change(const std::string& directory, const Words& words, bool only_ask) {
  AscendNode node(directory);
  Lines touched;
  const std::vector<Words> changes = ParseChanges(words);
  for (const Words& change : changes) {
    const std::optional<size_t> chip = ChipOf(change, node.node());
    demo::Unite(touched, chip ? Lines{LineOf(node.node().chips[*chip])} : DevicesOf(node.node()));
  }
  if (!only_ask) {
    for (const Words& change : changes) Apply(node, change);
  }
  return touched;
}

}  // namespace
}  // namespace tessera::ascend

const tessera::demo::Simulator tessera::demo::kAscend = {"ascend", ascend::MakeNode,
                                                         ascend::Change};
