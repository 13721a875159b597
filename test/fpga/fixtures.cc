// SPDX-License-Identifier: Apache-2.0
// The named nodes, and changes by words.
#include <fmt/core.h>

#include <charconv>

#include "fpga/node.h"

namespace tessera::fpga {
namespace {

constexpr char kInterface[] = "ce48969398f05f33946d560708be108a";
constexpr char kNlb0[] = "d8424dc4a4a3c413f89e433683f9040b";  // of Intel's samples

uint64_t NumberIn(const std::string& word) {
  uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end) throw BadChange("not a number: '" + word + "'");
  return number;
}

}  // namespace

SimNode Pac() {
  return {.intel = {{.address = "0000:5e:00.0",
                     .root = "pci0000:5d/0000:5d:00.0",
                     .interface_id = kInterface,
                     .ports = {{0, "", kNlb0}}},
                    {.address = "0000:be:00.0",
                     .root = "pci0000:bd/0000:bd:00.0",
                     .numa = 1,
                     .interface_id = kInterface,
                     .ports = {{0, "", kNlb0}, {1, "0000:be:00.1", kNlb0}}}}};
}

SimNode Opae() {
  SimNode node = Pac();
  node.intel[1].ports.resize(1);
  for (SimIntel& card : node.intel) card.is_opae = true;
  return node;
}

SimNode Alveo() {
  return {.xilinx = {{.user = "0000:d8:00.1",
                      .management = "0000:d8:00.0",
                      .root = "pci0000:d7/0000:d7:00.0",
                      .render = 130,
                      .shell = "xilinx_u250_gen3x16_xdma_shell_4_1",
                      .serial = "21320621V00D"},
                     {.user = "0000:af:00.0",
                      .root = "pci0000:ae/0000:ae:00.0",
                      .render = 131,
                      .shell = "xilinx_u280_xdma_201920_3",
                      .time = "1579649056",
                      .serial = "21770205N01T",
                      .queues = "dma.qdma.u.16777216.0"}}};
}

SimNode U30() {
  SimNode node;
  for (const std::string bus : {"3b", "3c"}) {
    node.xilinx.push_back({.user = fmt::format("0000:{}:00.1", bus),
                           .management = fmt::format("0000:{}:00.0", bus),
                           .root = "pci0000:3a/0000:3a:00.0",
                           .numa = 0,
                           .render = bus == "3b" ? 128 : 129,
                           .shell = "xilinx_u30_gen3x4_base_2",
                           .serial = "XFL1SWLOEQ4U"});
  }
  return node;
}

SimNode NamedNode(const std::string& name) {
  if (name == "pac") return Pac();
  if (name == "opae") return Opae();
  if (name == "alveo") return Alveo();
  if (name == "u30") return U30();
  throw BadChange("there is no node '" + name + "': take pac, opae, alveo or u30");
}

void FpgaNode::Apply(const Words& words) {
  const auto is = [&](const char* name, size_t count) {
    if (words.empty() || words[0] != name) return false;
    if (words.size() != count + 1) throw BadChange(fmt::format("{} needs {} words", name, count));
    return true;
  };
  if (is("lose", 1)) return Lose(NumberIn(words[1]));
  if (is("unplug", 1)) return Unplug(NumberIn(words[1]));
  if (is("return", 1)) return Return(NumberIn(words[1]));
  if (is("unbind", 1)) return Unbind(NumberIn(words[1]));
  if (is("afu", 3)) return SetAfu(NumberIn(words[1]), NumberIn(words[2]), words[3]);
  if (is("interface", 2)) return SetInterface(NumberIn(words[1]), words[2]);
  if (is("errors", 3)) return SetErrors(NumberIn(words[1]), NumberIn(words[2]), NumberIn(words[3]));
  if (is("load", 1)) return Load(NumberIn(words[1]));
  if (is("loaded", 2)) return Loaded(NumberIn(words[1]), words[2]);
  if (is("renumber", 1)) return Renumber(static_cast<int>(NumberIn(words[1]) % 1000));
  if (is("remove-driver", 0)) return RemoveDriver();
  if (is("install-driver", 0)) return InstallDriver();
  throw BadChange("there is no change '" + (words.empty() ? "" : words[0]) + "'");
}

}  // namespace tessera::fpga
