// SPDX-License-Identifier: Apache-2.0
#include "rdma/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "os/files.h"
#include "rdma/state.h"

namespace tessera::rdma {

std::string VfAddress(const SimNic& nic, int index) {
  const size_t end = nic.address.size();
  unsigned device = 0;
  std::from_chars(&nic.address[end - 4], &nic.address[end - 2], device, 16);
  const unsigned at = device * 8 + static_cast<unsigned>(nic.address[end - 1] - '0') + 1 +
                      static_cast<unsigned>(index);
  return fmt::format("{}{:02x}.{}", nic.address.substr(0, end - 4), at / 8, at % 8);
}

std::vector<SimPlace> SimNodeState::Functions() const {
  static const SimFunctionState kPlain;
  std::vector<SimPlace> all;
  const auto add = [&](const SimNic& nic, int vf, const std::string& address) {
    const auto known = functions.find(address);
    const SimFunctionState& state = known == functions.end() ? kPlain : known->second;
    if (!state.is_unplugged) all.push_back({&nic, vf, address, &state});
    return !state.is_unplugged;
  };
  for (const SimNic& nic : node.nics) {
    if (!add(nic, -1, nic.address)) continue;
    for (int vf = 0; vf < nic.vfs; ++vf) add(nic, vf, VfAddress(nic, vf));
  }
  return all;
}

bool SimNodeState::IsDriven(const SimPlace& function) const {
  const std::string driver = function.state->driver.value_or(function.nic->driver);
  return has_driver && driver == function.nic->driver && !function.state->is_lost;
}

bool SimNodeState::HasVerbs(const SimPlace& function) const {
  return IsDriven(function) && function.nic->has_verbs && !bonds.contains(function.address);
}

struct RdmaNode::Impl {
  Impl(std::string of, SimNode node) : directory(std::move(of)) {
    state.node = std::move(node);
    std::erase_if(state.node.others, [&](const SimFunction& other) {
      return os::Exists(fmt::format("{}/sys/bus/pci/devices/{}", directory, other.address));
    });
  }

  SimNic& Nic(const std::string& address) {
    const auto nic = std::ranges::find(state.node.nics, address, &SimNic::address);
    if (nic == state.node.nics.end()) throw BadChange("there is no card at " + address);
    return *nic;
  }
  SimFunctionState& StateOf(const std::string& address) {
    for (const SimNic& nic : state.node.nics) {
      if (nic.address == address) return state.functions[address];
      for (int vf = 0; vf < nic.total_vfs; ++vf) {
        if (VfAddress(nic, vf) == address) return state.functions[address];
      }
    }
    throw BadChange("there is no function at " + address);
  }
  // A device that comes gets the next number; a number does not come again.
  void Number() {
    std::map<std::string, int> now;
    for (const SimPlace& function : state.Functions()) {
      if (!state.HasVerbs(function)) continue;
      const auto had = state.numbers.find(function.address);
      now[function.address] = had == state.numbers.end() ? state.next_number++ : had->second;
    }
    state.numbers = std::move(now);
  }
  void Write() {
    Number();
    amd::Tree now = Files(state);
    if (!is_past) now.Replace(tree, directory);
    tree = std::move(now);
  }

  const std::string directory;
  SimNodeState state;
  bool is_past = false;  // the files have the changes already
  amd::Tree tree;
};

RdmaNode::RdmaNode(std::string directory, SimNode node)
    : impl_(std::make_unique<Impl>(std::move(directory), std::move(node))) {
  impl_->Write();
}

RdmaNode::RdmaNode(std::string directory, SimNode node, const std::function<void(RdmaNode&)>& past)
    : impl_(std::make_unique<Impl>(std::move(directory), std::move(node))) {
  impl_->is_past = true;
  impl_->Write();
  past(*this);
  impl_->is_past = false;
}

RdmaNode::RdmaNode(RdmaNode&&) noexcept = default;
RdmaNode::~RdmaNode() = default;

void RdmaNode::SetCable(const std::string& address, bool is_in) {
  impl_->state.cables[impl_->Nic(address).address] = is_in;
  impl_->Write();
}

void RdmaNode::SetSubnetManager(bool runs) {
  impl_->state.has_subnet_manager = runs;
  impl_->Write();
}

void RdmaNode::SetUp(const std::string& address, bool is_up) {
  impl_->StateOf(address).is_up = is_up;
  impl_->Write();
}

void RdmaNode::SetAway(const std::string& address, bool is_away) {
  impl_->StateOf(address).is_away = is_away;
  impl_->Write();
}

void RdmaNode::SetDriver(const std::string& address, const std::string& driver) {
  impl_->StateOf(address).driver = driver;
  impl_->Write();
}

void RdmaNode::SetVfs(const std::string& address, int count) {
  SimNic& nic = impl_->Nic(address);
  if (count < 0 || count > nic.total_vfs) {
    throw BadChange(fmt::format("{} can have {} functions", address, nic.total_vfs));
  }
  nic.vfs = count;
  impl_->Write();
}

void RdmaNode::Bond(const std::string& first, const std::string& second) {
  impl_->state.bonds[impl_->Nic(second).address] = impl_->Nic(first).address;
  impl_->Write();
}

void RdmaNode::Unbond(const std::string& second) {
  impl_->state.bonds.erase(impl_->Nic(second).address);
  impl_->Write();
}

void RdmaNode::UnloadDriver() {
  impl_->state.has_driver = false;
  impl_->Write();
}

void RdmaNode::LoadDriver() {
  impl_->state.has_driver = true;
  impl_->Write();
}

void RdmaNode::Lose(const std::string& address) {
  impl_->StateOf(address).is_lost = true;
  impl_->Write();
}

void RdmaNode::Unplug(const std::string& address) {
  impl_->StateOf(address).is_unplugged = true;
  impl_->Write();
}

void RdmaNode::Return(const std::string& address) {
  SimFunctionState& state = impl_->StateOf(address);
  state.is_lost = state.is_unplugged = false;
  impl_->Write();
}

void RdmaNode::SetFatalErrors(const std::string& address, int count) {
  impl_->StateOf(address).fatal_errors = count;
  impl_->Write();
}

void RdmaNode::SetLinkDowned(const std::string& address, int count) {
  impl_->StateOf(address).link_downed = count;
  impl_->Write();
}

void RdmaNode::SetExclusive(bool is_exclusive) {
  impl_->state.is_exclusive = is_exclusive;
  impl_->Write();
}

const SimNode& RdmaNode::node() const {
  return impl_->state.node;
}

}  // namespace tessera::rdma
