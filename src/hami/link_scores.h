// SPDX-License-Identifier: Apache-2.0
// How close the GPUs of a node are to each other, in HAMi's points: the value of
// Vendor::node_score. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/vendor.h"

namespace tessera::hami {

// What two GPUs have in common on PCIe (nvmlDeviceGetTopologyCommonAncestor).
enum class CommonAncestor : uint8_t {
  kSystem,      // nothing: they are at different CPUs
  kNode,        // a CPU
  kHostBridge,  // a host bridge
  kMultiple,    // several switches between them
  kSingle,      // one switch
  kInternal,    // the board
};

// How one GPU reaches another.
struct Link {
  std::optional<CommonAncestor> ancestor{};
  int nvlinks = 0;          // that end at the other GPU
  int switch_links = 0;     // of the first GPU, that end at an NVSwitch
  int switch_links_of = 0;  // of the other GPU
};

// The link that is worth so many points, all of its NVLinks as if they ended at the other GPU: for
// who keeps the points alone.
Link LinkOfPoints(int points);

// The points of the pair. 0 where one way is known otherwise than the other way back: HAMi tells of
// it as an event of the node, AsymmetricGPUP2PLink.
int PairScore(const Link& there, const Link& back);
bool IsAsymmetric(const Link& there, const Link& back);

struct DeviceScores {
  std::string uuid;
  std::map<std::string, int64_t> scores{};  // by the UUID of the other
  bool operator==(const DeviceScores&) const = default;
};

// [{"uuid":"GPU-a","score":{"GPU-b":1220}}]
std::string EncodeScores(std::span<const DeviceScores> devices);
// kInvalid when it is not such a list.
Result<std::vector<DeviceScores>> DecodeScores(std::string_view text,
                                               const Vendor& vendor = kNvidia);

}  // namespace tessera::hami
