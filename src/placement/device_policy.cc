// SPDX-License-Identifier: Apache-2.0
#include "placement/device_policy.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

using Roomy = std::vector<RoomyDevice>;

// A bound on a pod's search: enough for all sets of every size out of 16 devices, for two
// containers.
constexpr size_t kMostLooks = 210'000;

bool GoesBefore(const DevicePolicy& policy, const RoomyDevice& a, const RoomyDevice& b) {
  for (const DeviceOrder key : policy.keys) {
    if (const float of_a = key(a), of_b = key(b); of_a != of_b) return of_a < of_b;
  }
  return std::tie(a.device->index, a.place) > std::tie(b.device->index, b.place);
}

int64_t Between(const RoomyDevice& a, const RoomyDevice& b) {
  const std::vector<int64_t>& row = a.device->closeness;
  return b.place < row.size() ? row[b.place] : 0;
}

const RoomyDevice& Farthest(const Roomy& devices) {
  const auto sum = [&](const RoomyDevice& device) {
    int64_t points = 0;
    for (const RoomyDevice& other : devices) {
      if (other.place != device.place) points += Between(device, other);
    }
    return points;
  };
  return *std::ranges::min_element(devices, {}, sum);  // the first of equals
}

// Whether the search can cover all sets of `count` devices.
bool AreFew(size_t devices, size_t count, size_t looks) {
  size_t sets = 1;
  for (size_t i = 0; i < std::min(count, devices - count); ++i) {
    sets = sets * (devices - i) / (i + 1);
    if (sets * count > looks) return false;
  }
  return true;
}

// Searches all sets in sort order and keeps the first with the most points.
class ClosestSet {
 public:
  ClosestSet(const Roomy& devices, size_t count) : devices_(devices), count_(count) {
    Extend(0, 0);
  }
  Roomy Take() {
    Roomy taken;
    for (const size_t i : best_) taken.push_back(devices_[i]);
    return taken;
  }

 private:
  void Extend(size_t from, int64_t points) {
    if (chosen_.size() == count_) {
      if (best_.empty() || points > most_) {
        best_ = chosen_;
        most_ = points;
      }
      return;
    }
    for (size_t i = from; i + (count_ - chosen_.size()) <= devices_.size(); ++i) {
      int64_t more = 0;
      for (const size_t j : chosen_) more += Between(devices_[j], devices_[i]);
      chosen_.push_back(i);
      Extend(i + 1, points + more);
      chosen_.pop_back();
    }
  }

  const Roomy& devices_;
  const size_t count_;
  std::vector<size_t> chosen_;
  std::vector<size_t> best_;
  int64_t most_ = 0;
};

// Picks from sorted devices. If there are too many, the last are dropped first.
Roomy Closest(Roomy devices, size_t count, size_t looks) {
  if (count == 1) return {Farthest(devices)};
  while (!AreFew(devices.size(), count, looks)) devices.pop_back();
  return ClosestSet(devices, count).Take();
}

// The devices of the first group that has enough, or none.
Roomy OfOneGroup(Roomy devices, size_t count, Together together) {
  const auto is_of = [&](int32_t group) {
    return [=](const RoomyDevice& device) { return GroupOf(*device.device, together) == group; };
  };
  const auto has_enough = [&](const RoomyDevice& first) {
    const auto size = std::ranges::count_if(devices, is_of(GroupOf(*first.device, together)));
    return size >= static_cast<std::ptrdiff_t>(count);
  };
  const auto first = std::ranges::find_if(devices, has_enough);
  if (first == devices.end()) return {};
  std::erase_if(devices, std::not_fn(is_of(GroupOf(*first->device, together))));
  return devices;
}

// Keeps the devices whose partner in the group also has room.
Roomy Pairs(const Roomy& devices) {
  Roomy pairs;
  for (auto one = devices.begin(); one != devices.end(); ++one) {
    const auto other = std::find_if(one + 1, devices.end(), [&](const RoomyDevice& device) {
      return device.device->group == one->device->group && device.place != one->place;
    });
    if (other == devices.end() || one->device->group < 0) continue;
    pairs.push_back(*one);
    pairs.push_back(*other);
  }
  return pairs;
}

Roomy First(Roomy devices, size_t count) {
  devices.resize(count);
  return devices;
}

}  // namespace

float ScoreOf(const DeviceUsage& used, const DeviceUsage& all, const ScoreWeights& weights) {
  if (all.containers == 0 || all.cores == 0 || all.memory == 0) return 0;
  const auto part = [](int64_t weight, int64_t of, int64_t whole) {
    return static_cast<float>(weight) * (static_cast<float>(of) / static_cast<float>(whole));
  };
  return 10 * (part(weights.containers, used.containers, all.containers) +
               part(weights.cores, used.cores, all.cores) +
               part(weights.memory, used.memory, all.memory));
}

float EmptiestFirst(const RoomyDevice& device) {
  return device.score;
}
float FullestFirst(const RoomyDevice& device) {
  return -device.score;
}
float HighestNumaFirst(const RoomyDevice& device) {
  return -static_cast<float>(device.device->numa);
}
float LowestNumaFirst(const RoomyDevice& device) {
  return static_cast<float>(device.device->numa);
}

std::optional<Roomy> PickDevices(const DevicePolicy& policy, size_t count, Roomy devices,
                                 size_t searches) {
  std::ranges::sort(devices, [&](const RoomyDevice& a, const RoomyDevice& b) {
    return GoesBefore(policy, a, b);
  });
  if (policy.together == Together::kPairs) {
    devices = Pairs(devices);
  } else if (policy.together != Together::kAnywhere) {
    devices = OfOneGroup(std::move(devices), count, policy.together);
  }
  if (devices.size() < count) return std::nullopt;
  const bool closest = policy.closest || (policy.several_closest && count > 1);
  if (closest && devices.size() > count) {
    return Closest(std::move(devices), count, kMostLooks / std::max(searches, size_t{1}));
  }
  return First(std::move(devices), count);
}

}  // namespace tessera
