// SPDX-License-Identifier: Apache-2.0
// The closeness of a node's GPUs to each other, in HAMi's points: the value of Vendor::node_score.
// Pure; plain data; any thread.
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

// The common PCIe ancestor of two GPUs (nvmlDeviceGetTopologyCommonAncestor).
enum class CommonAncestor : uint8_t {
  kSystem,      // none: they are at different CPUs
  kNode,        // a CPU
  kHostBridge,  // a host bridge
  kMultiple,    // several PCIe switches
  kSingle,      // one PCIe switch
  kInternal,    // the same board
};

// The link from one GPU to another.
struct Link {
  std::optional<CommonAncestor> ancestor{};
  int nvlinks = 0;          // that end at the other GPU
  int switch_links = 0;     // of the first GPU, that end at an NVSwitch
  int switch_links_of = 0;  // of the other GPU
};

// The link with these points, for callers that store only points. All NVLinks count as if they
// ended at the other GPU.
Link LinkOfPoints(int points);

// The points of the pair. 0 if the two directions differ; HAMi reports that as the node's event
// AsymmetricGPUP2PLink.
int PairScore(const Link& there, const Link& back);
bool IsAsymmetric(const Link& there, const Link& back);

struct DeviceScores {
  std::string uuid;
  std::map<std::string, int64_t> scores{};  // by the other GPU's UUID
  bool operator==(const DeviceScores&) const = default;
};

// [{"uuid":"GPU-a","score":{"GPU-b":1220}}]
std::string EncodeScores(std::span<const DeviceScores> devices);
// kInvalid if the text is no such list.
Result<std::vector<DeviceScores>> DecodeScores(std::string_view text,
                                               const Vendor& vendor = kNvidia);

}  // namespace tessera::hami
