// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "demo/simulator.h"
#include "rdma/changes.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

using demo::Lines;

// The card, then its virtual functions.
Lines DevicesOf(const SimNode& node, size_t index) {
  const SimNic& nic = node.nics[index];
  Lines lines = {fmt::format("{} {} 0 network card {:04x}:{:04x}", index, nic.address, nic.vendor,
                             nic.device)};
  for (int vf = 0; vf < nic.vfs; ++vf) {
    lines.push_back(fmt::format("{}:{} {} 0 virtual function", index, vf, VfAddress(nic, vf)));
  }
  return lines;
}

Lines DevicesOf(const SimNode& node) {
  Lines lines;
  for (size_t card = 0; card < node.nics.size(); ++card) {
    demo::Unite(lines, DevicesOf(node, card));
  }
  return lines;
}

bool Names(const Words& change, const Lines& devices) {
  return std::ranges::any_of(devices, [&](const std::string& line) {
    return std::ranges::any_of(change, [&](const std::string& word) {
      return line.find(" " + word + " ") != std::string::npos;
    });
  });
}

// The devices, before and after, of the cards that a change names; of all, if it names none.
Lines TouchedBy(const std::vector<Words>& changes, const SimNode& before, const SimNode& after) {
  Lines touched;
  for (const Words& change : changes) {
    bool is_of_all = true;
    for (size_t card = 0; card < after.nics.size(); ++card) {
      Lines devices = DevicesOf(before, card);
      demo::Unite(devices, DevicesOf(after, card));
      if (!Names(change, devices)) continue;
      demo::Unite(touched, devices);
      is_of_all = false;
    }
    if (!is_of_all) continue;
    demo::Unite(touched, DevicesOf(before));
    demo::Unite(touched, DevicesOf(after));
  }
  return touched;
}

Lines MakeNode(const std::string& directory, const std::string& name, bool only_ask) {
  Lines devices = DevicesOf(NamedNode(name));
  if (!only_ask) ChangeTree(directory, name, {});
  return devices;
}

Lines Change(const std::string& directory, const Words& words, bool only_ask) {
  const std::vector<Words> changes = ParseChanges(words);
  const SimNode before = NodeAfter(directory, {});
  const SimNode after = NodeAfter(directory, changes);  // throws before anything has changed
  if (!only_ask) ChangeTree(directory, NameIn(directory), words);
  return TouchedBy(changes, before, after);
}

}  // namespace
}  // namespace tessera::rdma

const tessera::demo::Simulator tessera::demo::kRdma = {"rdma", rdma::MakeNode, rdma::Change};
