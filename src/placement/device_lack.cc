// SPDX-License-Identifier: Apache-2.0
#include "placement/device_lack.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace tessera {
namespace {

// Indexed by Lack.
constexpr std::array kTexts = {
    Misfit{"too few devices are healthy", false},
    Misfit{"its candidate devices are cordoned", false},
    Misfit{"too few devices are of a type that the pod wants", false},
    Misfit{"too few devices are divided in the way that the pod wants", false},
    Misfit{"too few devices have ids that the pod wants", false},
    Misfit{"devices have less in all than a container asks for", false},
    Misfit{"a container asks for parts of several devices, which are granted whole only", false},
    Misfit{"the pods' shares of the devices are unknown", true},
    Misfit{"the devices already have as many containers as they may", true},
    Misfit{"a container wants devices for itself, but other containers use them", true},
    Misfit{"devices are divided into parts of another size", true},
    Misfit{"devices have too little memory left", true},
    Misfit{"devices have too little compute time left", true},
    Misfit{"devices have no slice left that is large enough", true},
};
static_assert(kTexts.size() == static_cast<size_t>(Lack::kNothing));

constexpr Misfit kTooFew{"the node has fewer devices than a container asks for", false};
constexpr Misfit kTooFewAtOne{"no NUMA node has as many devices as a container wants on one node",
                              false};
constexpr Misfit kNoRoomAtOne{"the devices with room are not on one NUMA node", true};
constexpr Misfit kTooFewOfOne{"too few devices belong together", false};
constexpr Misfit kNoRoomOfOne{"the devices with room do not belong together", true};

}  // namespace

Misfit MisfitOf(std::vector<Lack> lacks, size_t count) {
  if (lacks.size() < count) return kTooFew;
  const auto decisive = lacks.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::ranges::nth_element(lacks, decisive, std::greater());
  return kTexts[static_cast<size_t>(*decisive)];
}

Misfit ApartMisfitOf(std::span<const Lack> lacks, std::span<const int32_t> groups, size_t count,
                     Together together) {
  std::map<int32_t, size_t> of_group;  // devices with room, now or once pods end
  for (size_t i = 0; i < lacks.size(); ++i) of_group[groups[i]] += lacks[i] > Lack::kParts ? 1 : 0;
  size_t most = 0;  // devices that may be combined
  for (const auto& [group, devices] : of_group) {
    const size_t pair = devices < 2 || group < 0 ? 0 : 2;
    most = together == Together::kPairs ? most + pair : std::max(most, devices);
  }
  if (together == Together::kOneNuma) return most >= count ? kNoRoomAtOne : kTooFewAtOne;
  return most >= count ? kNoRoomOfOne : kTooFewOfOne;
}

}  // namespace tessera
