// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>

#include "ascend/node.h"

namespace tessera::ascend {
namespace {

std::string Address(unsigned bus) {
  std::array<char, 16> text{};
  snprintf(text.data(), text.size(), "0000:%02x:00.0", bus);
  return text.data();
}

std::array<uint32_t, 5> Die(int chip) {
  return {0x42C711D4, 0x20B03704, 0x4A10C8D4, 0x14CC040A, 0xD2102000 + static_cast<uint32_t>(chip)};
}

SimNode Eight(const SimChip& like) {
  constexpr std::array<unsigned, 8> kBuses = {0xc1, 0xc2, 0x81, 0x82, 0x01, 0x02, 0x41, 0x42};
  constexpr std::array<const char*, 4> kCpus = {"144-167", "96-119", "0-23", "48-71"};
  SimNode node;
  for (int i = 0; i < 8; ++i) {
    SimChip chip = like;
    chip.card = chip.logic = chip.phy = i;
    chip.die = Die(i);
    chip.address = Address(kBuses[static_cast<size_t>(i)]);
    chip.cpus = kCpus[static_cast<size_t>(i / 2)];
    node.chips.push_back(chip);
  }
  return node;
}

}  // namespace

SimNode Eight910b3() {
  return Eight({});
}

SimNode Eight910a() {
  SimChip chip;
  chip.name = "910A";
  chip.cores = 30;
  chip.pci_device = 0xd801;
  chip.memory = 32768;
  return Eight(chip);
}

SimNode Duo310p() {
  SimNode node;
  for (int i = 0; i < 2; ++i) {
    SimChip chip;
    chip.card = 3;
    chip.device = chip.logic = chip.phy = i;
    chip.name = "310P3";
    chip.cores = 8;
    chip.die = Die(i);
    chip.address = Address(0x3b);
    chip.pci_device = 0xd500;
    chip.memory = 43692;
    chip.has_hbm = false;
    chip.numa = 1;
    node.chips.push_back(chip);
  }
  return node;
}

SimNode Sixteen910c() {
  SimNode node;
  node.die_policy = 0;
  for (int i = 0; i < 16; ++i) {
    SimChip chip;
    chip.card = i / 2;
    chip.device = i % 2;
    chip.logic = chip.phy = i;
    chip.name = "Ascend910";
    chip.die = Die(i);
    chip.address = Address(0x10 + static_cast<unsigned>(i));
    chip.pci_device = 0xd803;
    chip.numa = i / 4;
    node.chips.push_back(chip);
  }
  return node;
}

SimNode NamedNode(const std::string& name) {
  if (name == "8x910b3") return Eight910b3();
  if (name == "310p-duo") return Duo310p();
  if (name == "16x910c") return Sixteen910c();
  if (name == "8x910a") return Eight910a();
  throw BadChange("there is no node '" + name + "': 8x910b3, 310p-duo, 16x910c, 8x910a");
}

}  // namespace tessera::ascend
