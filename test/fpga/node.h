// SPDX-License-Identifier: Apache-2.0
// The files of a node with FPGAs, below a directory: sysfs and device nodes (as plain files). Links
// are relative, so they hold below any directory. Any thread, but only one for each directory.
//
// Names and contents are those of the kernel's drivers DFL and OPAE, and of XRT's xocl and xclmgmt.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "amd/tree.h"

namespace tessera::fpga {

struct SimPort {
  int number = 0;          // on its card
  std::string function{};  // the PCI function that has it, if not the card's: "0000:5e:00.1"
  std::string afu_id{};    // 32 digits
  uint64_t errors = 0;
};

// A card of Intel's.
struct SimIntel {
  std::string address{};  // "0000:5e:00.0"
  std::string root{};     // "pci0000:5d/0000:5d:00.0"
  int numa = 0;
  std::string interface_id{};
  std::vector<SimPort> ports{};
  bool is_opae = false;  // of OPAE's driver, and not of the kernel's
};

// A card of Xilinx's.
struct SimXilinx {
  std::string user{};        // "0000:d8:00.1"
  std::string management{};  // "0000:d8:00.0"; empty: in a virtual machine
  std::string root{};        // "pci0000:d7/0000:d7:00.0"
  int numa = 1;
  int render = 128;
  std::string shell{};
  std::string time = "0";
  std::string serial{};
  std::string queues{};  // of the function for users: "dma.qdma.u.16777216.0"; empty: none
};

struct SimNode {
  std::vector<SimIntel> intel{};
  std::vector<SimXilinx> xilinx{};
};

SimNode Pac();    // two cards of DFL: one port, and two ports
SimNode Opae();   // two cards of OPAE's driver
SimNode Alveo();  // a U250 with both functions, and a U280 as in a virtual machine
SimNode U30();    // one card: two devices with one serial number
// By its name: pac, opae, alveo, u30. Throws BadChange.
SimNode NamedNode(const std::string& name);

using Words = std::vector<std::string>;

// The node has no such card, port or name.
struct BadChange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Owns the files that it writes, but does not remove them. Functions throw std::runtime_error.
// Cards are counted from 0, Intel's first.
class FpgaNode {
 public:
  FpgaNode(std::string directory, SimNode node);
  // Takes over the tree that another process made of this node by these changes.
  FpgaNode(std::string directory, SimNode node, const std::vector<Words>& past);

  // Its config space reads as ones, and its ids as well.
  void Lose(size_t card);
  void Unplug(size_t card);  // everything goes but its bridges
  void Return(size_t card);
  void Unbind(size_t card);  // its driver's files go
  void SetAfu(size_t card, size_t port, const std::string& id);
  void SetInterface(size_t card, const std::string& id);
  void SetErrors(size_t card, size_t port, uint64_t errors);
  // A card of Xilinx's is loading its shell, or has loaded this one.
  void Load(size_t card);
  void Loaded(size_t card, const std::string& shell);
  // The drivers come up in another order: all numbers begin there.
  void Renumber(int first);
  void RemoveDriver();
  void InstallDriver();
  // "lose 0". Throws BadChange.
  void Apply(const Words& words);

  const SimNode& node() const { return node_; }

 private:
  struct State {
    bool is_lost = false;
    bool is_absent = false;
    bool is_unbound = false;
    bool is_loading = false;
  };

  State& StateOf(size_t card);
  SimIntel& IntelAt(size_t card);
  SimPort& PortAt(size_t card, size_t port);
  SimXilinx& XilinxAt(size_t card);
  void Write();
  amd::Tree Files() const;
  void AddFunction(amd::Tree& tree, const std::string& path, const State& state,
                   const std::map<std::string, std::string>& files,
                   const std::string& driver) const;
  void AddIntel(amd::Tree& tree, size_t card, int& ports) const;
  void AddXilinx(amd::Tree& tree, size_t card) const;

  const std::string directory_;
  SimNode node_;
  std::vector<State> states_;
  bool has_driver_ = true;
  bool is_past_ = false;  // the files have the changes already
  int first_ = 0;
  amd::Tree written_;
};

}  // namespace tessera::fpga
