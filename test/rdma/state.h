// SPDX-License-Identifier: Apache-2.0
// A simulated node as it is now, and the files that follow from it. Values; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "amd/tree.h"
#include "rdma/node.h"

namespace tessera::rdma {

// The changes of a function, besides its card's description.
struct SimFunctionState {
  std::optional<std::string> driver{};  // nullopt: its card's
  bool is_away = false;                 // its interface, in a pod
  bool is_up = true;
  bool is_lost = false;
  bool is_unplugged = false;
  int fatal_errors = 0;
  int link_downed = 0;
};

// A function of the bus as the files describe it.
struct SimPlace {
  const SimNic* nic = nullptr;
  int vf = -1;  // -1: the physical one
  std::string address{};
  const SimFunctionState* state = nullptr;
};

struct SimNodeState {
  SimNode node;
  std::map<std::string, SimFunctionState> functions;  // by address
  std::map<std::string, int> numbers;                 // of the RDMA devices' nodes, by address
  std::map<std::string, bool> cables;                 // by the card's address; absent: it is in
  std::map<std::string, std::string> bonds;           // the second card's address to the first's
  int next_number = 0;
  bool has_driver = true;
  bool has_subnet_manager = true;
  bool is_exclusive = false;

  std::vector<SimPlace> Functions() const;
  bool IsDriven(const SimPlace& function) const;
  bool HasVerbs(const SimPlace& function) const;
};

amd::Tree Files(const SimNodeState& state);

}  // namespace tessera::rdma
