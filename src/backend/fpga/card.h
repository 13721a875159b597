// SPDX-License-Identifier: Apache-2.0
// What a device of the kind is, whatever its vendor: a card, or one port of it. Plain data; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/node_facts.h"
#include "base/error.h"

namespace tessera::fpga {

// A file that says what the hardware is, and what it said. The file is below the hardware's own
// directory, so another card never answers for it.
struct Identity {
  std::string path{};
  std::string text{};
  bool operator==(const Identity&) const = default;
};

struct Card {
  std::string id{};       // stable: a PCI address, and a port's number on its card
  std::string address{};  // its function on the PCI bus
  std::string profile{};  // in a resource's name; empty: it cannot be read
  std::string model{};    // for people
  std::string bundle{};   // DeviceTraits::bundle
  std::vector<WantedNode> nodes{};
  std::vector<std::string> takes{};      // DeviceTraits::takes
  std::vector<std::string> functions{};  // on the PCI bus, which must answer and have a driver
  std::vector<Identity> identity{};
  std::vector<std::string> registers{};  // of errors; 0: none. A card may lack some
  std::optional<Error> trouble{};        // it cannot be used
  bool operator==(const Card&) const = default;
};

// A node that a container gets at the path of the host.
inline WantedNode NodeAt(const std::string& path, const std::string& permissions) {
  return {{.host_path = path, .container_path = path, .permissions = permissions}, false};
}

}  // namespace tessera::fpga
