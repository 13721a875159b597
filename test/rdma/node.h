// SPDX-License-Identifier: Apache-2.0
// The files of a node with RDMA and SR-IOV network cards, below a directory: sysfs, the default
// route and device nodes (as plain files). Names and formats are those of the kernel's interfaces
// (Documentation/ABI/stable/sysfs-class-infiniband of Linux). Links are relative, so they hold
// below any directory. Any thread, but only one for each directory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::rdma {

// A physical function. Its virtual functions follow it on the bus.
struct SimNic {
  std::string address{};               // "0000:af:00.0"
  std::vector<std::string> bridges{};  // from the root complex down: {"pci0000:ae", "0000:ae:00.0"}
  // "ens3f0np0"; those of its functions are ens3f0v0 and so on. Empty: it has none.
  std::string interface{};
  uint32_t vendor = 0x15b3, device = 0x101b, vf_device = 0x101c;
  std::optional<int> numa{};  // nullopt: the file has "-1"
  bool is_infiniband = false;
  bool has_verbs = true;
  int total_vfs = 8, vfs = 0;
  int iommu_group = 24;  // of the virtual functions: the next ones
  std::string driver = "mlx5_core";
};

// Another function of the bus, such as a GPU near a card. One that is there already stays as it is.
struct SimFunction {
  std::string address{};
  std::vector<std::string> bridges{};
  std::string vendor = "0x10de", device = "0x20b0", pci_class = "0x030200";
  std::optional<int> numa{};
};

struct SimNode {
  std::vector<SimNic> nics{};
  std::vector<SimFunction> others{};
  std::string default_route = "eno1";  // the interface; empty: none
};

SimNode Two();      // a card of InfiniBand, and one of Ethernet with four virtual functions
SimNode Pairs();    // four switches, each with two GPUs and two cards
SimNode PairsVm();  // the same in a virtual machine: one root complex, no NUMA nodes, no issm
SimNode Domains();  // two cards at one address of two PCI domains
SimNode Efa();      // two of AWS's, with neither interfaces nor MADs
SimNode Many();     // eight cards with 125 virtual functions each
// By its name: two, pairs, pairs-vm, domains, efa, many. Throws BadChange.
SimNode NamedNode(const std::string& name);

// The address of a virtual function: they follow the physical one.
std::string VfAddress(const SimNic& nic, int index);

// The node has no such function or name.
struct BadChange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Owns the files that it writes, but does not remove them. Functions throw std::runtime_error. An
// address is that of a card, or of one of its virtual functions.
class RdmaNode {
 public:
  RdmaNode(std::string directory, SimNode node);
  // Takes over the tree that another process made of this node by the changes in `past`.
  RdmaNode(std::string directory, SimNode node, const std::function<void(RdmaNode&)>& past);
  RdmaNode(RdmaNode&&) noexcept;
  RdmaNode& operator=(RdmaNode&&) = delete;
  ~RdmaNode();

  void SetCable(const std::string& address, bool is_in);
  void SetSubnetManager(bool runs);
  void SetUp(const std::string& address, bool is_up);  // as `ip link set ... up`
  // The interface is in a pod's network namespace, or back.
  void SetAway(const std::string& address, bool is_away);
  void SetDriver(const std::string& address, const std::string& driver);  // "": none
  // Renumbers the nodes of the card's functions, as does LoadDriver of all.
  void SetVfs(const std::string& address, int count);
  // Both cards are one RDMA device, at the first.
  void Bond(const std::string& first, const std::string& second);
  void Unbond(const std::string& second);
  void UnloadDriver();
  void LoadDriver();
  // It no longer answers on its bus: its configuration reads as ones, and its driver leaves it.
  void Lose(const std::string& address);
  void Unplug(const std::string& address);
  void Return(const std::string& address);  // from both
  void SetFatalErrors(const std::string& address, int count);
  void SetLinkDowned(const std::string& address, int count);
  void SetExclusive(bool is_exclusive);  // RDMA devices are those of a network namespace

  const SimNode& node() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::rdma
