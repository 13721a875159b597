// SPDX-License-Identifier: Apache-2.0
// A node with Ascend chips below a directory, for tests: the fake driver's library, device nodes
// (as plain files) and sysfs. The test owns it, and removes the directory. Functions throw
// std::runtime_error or BadChange. One thread, but calls of the library run beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ascend/description.h"

namespace tessera::ascend {

SimNode Eight910b3();   // an Atlas 800T A2
SimNode Duo310p();      // a card with two chips of one PCI address
SimNode Sixteen910c();  // 8 packages of two dies, given together
SimNode Eight910a();    // in two rings of four
// By its name: 8x910b3, 310p-duo, 16x910c, 8x910a. Throws BadChange.
SimNode NamedNode(const std::string& name);

class AscendNode {
 public:
  // Makes the files, and installs the driver.
  AscendNode(std::string directory, const SimNode& node);
  // Takes over the node that another process has made there.
  explicit AscendNode(std::string directory);

  // `lacking`: a function that the library must not have, as in an old driver.
  void InstallDriver(const std::string& lacking = "");
  void RemoveDriver();
  // Chips are named by their place in the description.
  void SetHealth(size_t chip, uint32_t health, std::vector<uint32_t> codes = {});
  // The driver tells of a fault; the chip's health stays.
  void Tell(size_t chip, uint32_t code, int severity, int assertion);
  // The function of this card fails with the code, or hangs (0). "*" is each function, -1 each
  // card.
  void Fail(const std::string& function, int card, int code);
  void Mend();  // no call fails or hangs
  // The chip is gone from DCMI and /dev, and from the bus, unless another chip has its address.
  void Unplug(size_t chip);
  void Return(size_t chip);

  // vNPUs of other programs.
  void MakeVnpu(size_t chip, uint32_t id, const std::string& name);
  void RefuseNumbers();  // the driver chooses the numbers of new ones itself
  void UseVnpu(uint32_t id, bool used);
  void DestroyVnpu(uint32_t id);
  // "164 vir10_3c_32g", sorted.
  std::vector<std::string> Vnpus() const;

  const SimNode& node() const { return node_; }
  const std::string& directory() const { return directory_; }

 private:
  SimChip& Chip(size_t chip);
  void WriteNode() const { WriteText(directory_ + kDescriptionPath, TextOf(node_)); }
  void WriteChip(const SimChip& chip) const;

  const std::string directory_;
  SimNode node_;
};

}  // namespace tessera::ascend
