// SPDX-License-Identifier: Apache-2.0
#include "choose/choose.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "choose/closest.h"
#include "choose/narrow.h"

namespace tessera {
namespace {

// The group of devices without NUMA information. It is the largest value, so known nodes win ties.
constexpr int kNoNode = std::numeric_limits<int>::max();

struct DeviceRoom {
  std::vector<uint32_t> free;  // positions in Offer::shares, ascending
  size_t next = 0;             // index of the first entry of `free` that is not taken
  size_t taken = 0;            // shares in use or chosen
  size_t chosen = 0;           // shares in this answer
  size_t siblings = 0;         // rank of its parent; breaks ties between devices of one rank

  size_t room() const { return free.size() - next; }
};

struct NodeRoom {
  std::vector<uint32_t> devices;  // devices with room, ascending
  size_t room = 0;                // free shares
  bool near = false;              // near to a device of must_include
};

std::span<const int> NodesOf(const Device& device) {
  if (device.numa_nodes.empty()) return {&kNoNode, 1};
  return device.numa_nodes;
}

// The free shares of an offer by device and by NUMA node. They shrink as shares are taken.
class Rooms {
 public:
  Rooms(const Offer& offer, const Preference& preference, std::span<const std::string> included);

  // Takes up to `wanted` shares; returns their positions in the answer's order.
  std::vector<uint32_t> Take(size_t wanted);

 private:
  // The rank of a node, most important criterion first; smaller is better.
  using Rank = std::tuple<bool, bool, size_t>;  // far, too small, by room or load

  void MarkFree(std::span<const std::string> available, std::span<const std::string> included);
  void RankParents();
  void MarkNear(std::span<const std::string> included);
  size_t DeviceRank(uint32_t device) const;  // smaller is better
  Rank NodeRank(const NodeRoom& node, size_t wanted) const;
  NodeRoom* BestNode(size_t wanted);
  void TakeFrom(NodeRoom& node, size_t wanted, std::vector<uint32_t>& answer);

  const Offer& offer_;
  const Placement placement_;
  bool divided_;  // devices have several shares
  std::vector<DeviceRoom> devices_;
  std::map<int, NodeRoom> nodes_;
};

Rooms::Rooms(const Offer& offer, const Preference& preference,
             std::span<const std::string> included)
    : offer_(offer),
      placement_(preference.placement),
      divided_(offer.plan.policy.division != Division::kWhole),
      devices_(offer.devices.size()) {
  MarkFree(preference.available, included);
  RankParents();
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    if (devices_[device].room() == 0) continue;
    for (int number : NodesOf(offer_.devices[device])) {
      nodes_[number].devices.push_back(device);
      nodes_[number].room += devices_[device].room();
    }
  }
  MarkNear(included);
}

void Rooms::MarkFree(std::span<const std::string> available,
                     std::span<const std::string> included) {
  std::vector<bool> free(offer_.shares.size());
  for (const std::string& id : available) {
    if (const auto at = offer_.shares.PositionOf(id)) {
      free[*at] = IsProposed(offer_, offer_.shares[*at]);
    }
  }
  for (const std::string& id : included) {
    if (const auto at = offer_.shares.PositionOf(id)) free[*at] = false;
  }
  for (uint32_t position = 0; position < free.size(); ++position) {
    DeviceRoom& device = devices_[offer_.shares[position].device];
    if (free[position]) {
      device.free.push_back(position);
    } else {
      ++device.taken;
    }
  }
}

// `placement` also applies to the parents of parts. Packed: the parent with the least room in all
// its parts, so that other parents stay free. Spread: the parent whose parts have the fewest taken
// shares.
void Rooms::RankParents() {
  std::unordered_map<std::string_view, size_t> ranks;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const std::string& parent = offer_.devices[device].parent;
    if (!parent.empty()) ranks[parent] += DeviceRank(device);
  }
  if (ranks.empty()) return;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const auto rank = ranks.find(offer_.devices[device].parent);
    if (rank != ranks.end()) devices_[device].siblings = rank->second;
  }
}

void Rooms::MarkNear(std::span<const std::string> included) {
  for (const std::string& id : included) {
    const Share* share = offer_.shares.Find(id);
    if (share == nullptr) continue;
    for (int number : NodesOf(offer_.devices[share->device])) {
      const auto it = nodes_.find(number);
      if (it != nodes_.end()) it->second.near = true;
    }
  }
}

size_t Rooms::DeviceRank(uint32_t device) const {
  const DeviceRoom& room = devices_[device];
  return placement_ == Placement::kSpread ? room.taken : room.room();
}

Rooms::Rank Rooms::NodeRank(const NodeRoom& node, size_t wanted) const {
  const bool far = !node.near;
  // The node's room does not suffice. The largest room comes first, so that few nodes are needed.
  if (node.room < wanted) return {far, true, std::numeric_limits<size_t>::max() - node.room};
  if (!divided_ || placement_ == Placement::kPack) return {far, false, node.room};
  size_t least_taken = std::numeric_limits<size_t>::max();
  for (uint32_t device : node.devices) {
    if (devices_[device].room() > 0) least_taken = std::min(least_taken, devices_[device].taken);
  }
  return {far, false, least_taken};
}

NodeRoom* Rooms::BestNode(size_t wanted) {
  NodeRoom* best = nullptr;
  Rank best_rank;
  for (auto& [number, node] : nodes_) {
    if (node.room == 0) continue;
    const Rank rank = NodeRank(node, wanted);
    if (best == nullptr || rank < best_rank) {
      best = &node;
      best_rank = rank;
    }
  }
  return best;
}

void Rooms::TakeFrom(NodeRoom& node, size_t wanted, std::vector<uint32_t>& answer) {
  // Rank, shares in the answer, parent's rank, device; the smallest comes out first.
  using Ranked = std::tuple<size_t, size_t, size_t, uint32_t>;
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> queue;
  const auto put = [&](uint32_t device) {
    const DeviceRoom& room = devices_[device];
    if (room.room() > 0) queue.emplace(DeviceRank(device), room.chosen, room.siblings, device);
  };
  std::ranges::for_each(node.devices, put);
  for (; wanted > 0 && !queue.empty(); --wanted) {
    const uint32_t device = std::get<3>(queue.top());
    queue.pop();
    DeviceRoom& room = devices_[device];
    answer.push_back(room.free[room.next++]);
    ++room.taken;
    ++room.chosen;
    for (int number : NodesOf(offer_.devices[device])) --nodes_.at(number).room;
    put(device);
  }
}

std::vector<uint32_t> Rooms::Take(size_t wanted) {
  std::vector<uint32_t> answer;
  while (answer.size() < wanted) {
    NodeRoom* node = BestNode(wanted - answer.size());
    if (node == nullptr) break;
    TakeFrom(*node, wanted - answer.size(), answer);
  }
  return answer;
}

// With more devices the search would keep kubelet waiting too long.
constexpr size_t kMostByLinks = 256;

bool HasLinks(const Offer& offer) {
  return std::any_of(offer.devices.begin(), offer.devices.end(), [](const Device& device) {
    return !device.links.empty() || !device.parent.empty();
  });
}

// The ascending positions in Offer::shares of up to `wanted` free shares that are closest to each
// other and to must_include. Nothing if the devices have no links or parents.
std::optional<std::vector<uint32_t>> TakeClosest(const Offer& offer, const Preference& preference,
                                                 std::span<const std::string> included,
                                                 size_t wanted) {
  if (offer.plan.policy.division != Division::kWhole || !HasLinks(offer)) return std::nullopt;
  std::vector<uint32_t> positions;
  for (const std::string& id : preference.available) {
    const auto at = offer.shares.PositionOf(id);
    if (at && IsProposed(offer, offer.shares[*at])) positions.push_back(*at);
  }
  std::vector<uint32_t> fixed;
  for (const std::string& id : included) {
    if (const auto at = offer.shares.PositionOf(id)) fixed.push_back(*at);
  }
  positions.insert(positions.end(), fixed.begin(), fixed.end());
  const auto order = [&](uint32_t position) {
    return std::pair(offer.devices[offer.shares[position].device].order, position);
  };
  std::sort(positions.begin(), positions.end(),
            [&](uint32_t a, uint32_t b) { return order(a) < order(b); });
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  if (positions.size() > kMostByLinks) return std::nullopt;

  std::vector<const Device*> devices;
  std::vector<uint32_t> places;  // indices of `fixed` in `positions`
  for (uint32_t i = 0; i < positions.size(); ++i) {
    devices.push_back(&offer.devices[offer.shares[positions[i]].device]);
    if (std::find(fixed.begin(), fixed.end(), positions[i]) != fixed.end()) places.push_back(i);
  }
  const Closeness closeness(devices);
  if (!closeness.IsKnown()) return std::nullopt;
  std::vector<uint32_t> answer;
  for (uint32_t place :
       Closest(closeness, places, std::min(places.size() + wanted, positions.size()))) {
    const uint32_t position = positions[place];
    if (std::find(fixed.begin(), fixed.end(), position) == fixed.end()) answer.push_back(position);
  }
  return answer;
}

}  // namespace

std::vector<std::string> Choose(const Offer& offer, const Preference& preference) {
  const size_t size = preference.size > 0 ? static_cast<size_t>(preference.size) : 0;
  std::vector<std::string> answer(preference.must_include.begin(), preference.must_include.end());
  std::sort(answer.begin(), answer.end(), NaturalLess());
  answer.erase(std::unique(answer.begin(), answer.end()), answer.end());
  if (answer.size() >= size) {
    answer.resize(size);
    return answer;
  }
  Preference rest = preference;
  std::optional<Narrowed> narrowed = Narrow(offer, preference.available, answer, size);
  if (narrowed) {
    answer = std::move(narrowed->included);
    rest.available = narrowed->available;
  }
  if (answer.size() >= size) return answer;
  const size_t wanted = size - answer.size();
  auto chosen = TakeClosest(offer, rest, answer, wanted);
  if (!chosen) chosen = Rooms(offer, rest, answer).Take(wanted);
  for (uint32_t position : *chosen) answer.push_back(offer.shares[position].id);
  return answer;
}

}  // namespace tessera
