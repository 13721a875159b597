// SPDX-License-Identifier: Apache-2.0
#include "device/nearest_pairs.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "device/pci_path.h"

namespace tessera {
namespace {

bool OnOneNode(const Device& a, const Device& b) {
  return std::ranges::any_of(a.numa_nodes, [&](int node) {
    return std::ranges::find(b.numa_nodes, node) != b.numa_nodes.end();
  });
}

// How many parts of the bus are above both.
size_t CommonParts(std::string_view a, std::string_view b) {
  const auto parting = std::ranges::mismatch(a, b).in1;
  const auto common = static_cast<size_t>(parting - a.begin());
  const auto parts = static_cast<size_t>(std::ranges::count(a.substr(0, common), '/'));
  return common == a.size() && common == b.size() ? parts + 1 : parts;
}

// Compares as "nearer". The bus comes first: a root complex may have several NUMA nodes, and one
// node several root complexes.
struct Distance {
  size_t common = 0;
  bool on_one_node = false;
  auto operator<=>(const Distance&) const = default;
};

Distance DistanceOf(const Device& a, const Device& b) {
  return {CommonParts(a.traits->pci_path, b.traits->pci_path), OnOneNode(a, b)};
}

// The order of PCI addresses; devices without one follow, in natural order.
std::vector<size_t> InOrder(const DeviceRefs& devices) {
  const auto rank = [](const Device& device) {
    const std::string_view address = FileName(device.traits->pci_path);
    return std::tuple(address.empty(), address.size(), address);
  };
  std::vector<size_t> order(devices.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const auto of_a = rank(*devices[a]);
    const auto of_b = rank(*devices[b]);
    if (of_a != of_b) return of_a < of_b;
    return NaturalLess()(devices[a]->key.id, devices[b]->key.id);
  });
  return order;
}

// The part of the bus above a function. Virtual functions have it in common with their card.
std::string_view AboveOf(const Device& device) {
  const std::string_view path = device.traits->pci_path;
  return path.substr(0, std::min(path.rfind('/'), path.size()));
}

class Pairing {
 public:
  Pairing(const DeviceRefs& first, const DeviceRefs& second, size_t shares)
      : first_(first),
        second_(second),
        partner_(first.size()),
        former_(first.size()),
        free_(second.size(), shares),
        uses_(second.size()) {
    distances_.reserve(first.size() * second.size());
    for (const Device* a : first_) {
      for (const Device* b : second_) distances_.push_back(DistanceOf(*a, *b));
    }
  }

  void Keep(std::span<const DevicePair> former) {
    for (const auto& [a, b] : former) {
      if (partner_[a] || free_[b] == 0) continue;
      former_[a] = b;
      Join(a, b);
    }
    for (const auto& [a, b] : former) {
      if (partner_[a] == b && !HasDefect(a, b) && IsNearerFree(a, b)) Part(a, b);
    }
  }

  void JoinNearest() {
    const std::vector<size_t> of_first = InOrder(first_);
    const std::vector<size_t> of_second = InOrder(second_);
    const std::set<Distance, std::greater<>> distances(distances_.begin(), distances_.end());
    for (const Distance& distance : distances) {
      for (const size_t a : of_first) {
        if (partner_[a] || first_[a]->defect) continue;
        if (former_[a] && Fits(a, *former_[a], distance)) Join(a, *former_[a]);
      }
      for (const size_t a : of_first) {
        if (partner_[a] || first_[a]->defect) continue;
        if (const auto b = LeastUsed(a, distance, of_second)) Join(a, *b);
      }
    }
  }

  std::vector<DevicePair> Pairs() const {
    std::vector<DevicePair> pairs;
    for (size_t a = 0; a < partner_.size(); ++a) {
      if (partner_[a]) pairs.push_back({a, *partner_[a]});
    }
    return pairs;
  }

 private:
  const Distance& Between(size_t a, size_t b) const { return distances_[a * second_.size() + b]; }
  bool HasDefect(size_t a, size_t b) const { return first_[a]->defect || second_[b]->defect; }
  bool MayJoin(size_t b) const { return free_[b] > 0 && !second_[b]->defect; }
  bool Fits(size_t a, size_t b, const Distance& distance) const {
    return MayJoin(b) && Between(a, b) == distance;
  }
  void Join(size_t a, size_t b) {
    partner_[a] = b;
    --free_[b];
    ++uses_[b];
    ++uses_above_[AboveOf(*second_[b])];
  }
  void Part(size_t a, size_t b) {
    partner_[a].reset();
    ++free_[b];
    --uses_[b];
    --uses_above_[AboveOf(*second_[b])];
  }
  bool IsNearerFree(size_t a, size_t b) const {
    for (size_t other = 0; other < second_.size(); ++other) {
      if (MayJoin(other) && Between(a, other) > Between(a, b)) return true;
    }
    return false;
  }
  std::optional<size_t> LeastUsed(size_t a, const Distance& distance,
                                  const std::vector<size_t>& order) {
    const auto uses = [this](size_t b) {
      return std::pair(uses_above_[AboveOf(*second_[b])], uses_[b]);
    };
    std::optional<size_t> least;
    for (const size_t b : order) {
      if (!Fits(a, b, distance)) continue;
      if (!least || uses(b) < uses(*least)) least = b;
    }
    return least;
  }

  const DeviceRefs& first_;
  const DeviceRefs& second_;
  std::vector<Distance> distances_;  // a row for each first device
  std::vector<std::optional<size_t>> partner_;
  std::vector<std::optional<size_t>> former_;
  std::vector<size_t> free_;  // of each second device, how many more pairs it may be in
  std::vector<size_t> uses_;  // pairs of each second device
  std::map<std::string_view, size_t> uses_above_;  // and of all below a part of the bus
};

}  // namespace

Nearness NearnessOf(const Device& a, const Device& b) {
  const int points = PciPoints(a.traits->pci_path, b.traits->pci_path);
  if (points >= 60) return Nearness::kSlot;
  if (points >= 50) return Nearness::kSwitch;
  if (points >= 40) return Nearness::kPort;
  if (points >= 30) return Nearness::kComplex;
  return OnOneNode(a, b) ? Nearness::kNuma : Nearness::kUnknown;
}

std::string_view NearnessText(Nearness nearness) {
  switch (nearness) {
    case Nearness::kSlot:
      return "in one slot";
    case Nearness::kSwitch:
      return "behind one switch";
    case Nearness::kPort:
      return "behind one root port";
    case Nearness::kComplex:
      return "on one root complex";
    case Nearness::kNuma:
      return "on one NUMA node";
    case Nearness::kUnknown:
      break;
  }
  return "on no common bus";
}

std::vector<DevicePair> NearestPairs(const DeviceRefs& first, const DeviceRefs& second,
                                     size_t shares, std::span<const DevicePair> former) {
  Pairing pairing(first, second, shares);
  pairing.Keep(former);
  pairing.JoinNearest();
  return pairing.Pairs();
}

}  // namespace tessera
