// SPDX-License-Identifier: Apache-2.0
// kubelet's checkpoint of device allocations: device-plugins/kubelet_internal_checkpoint. The
// format is internal to kubelet, and stable from 1.20 to 1.37: JSON
// {"Data":{"PodDeviceEntries":[{"PodUID","ContainerName","ResourceName","DeviceIDs":{"<numa>":[ids]},
// "AllocResp":base64}],"RegisteredDevices":{resource:[ids]}},"Checksum":n}. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grant/grant.h"

namespace tessera::kubelet {

inline constexpr char kCheckpointFile[] = "kubelet_internal_checkpoint";

struct CheckpointEntry {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::map<std::string, std::vector<std::string>> ids_by_numa;  // "-1" without NUMA
  std::string allocate_response;                                // serialized, decoded from base64

  std::vector<std::string> ids() const;  // all ids, natural order
  // The plugin's answer to Allocate; empty if it cannot be read.
  Grant grant() const;
};

struct Checkpoint {
  std::vector<CheckpointEntry> entries;
  std::map<std::string, std::vector<std::string>> registered;  // resource -> healthy ids
};

// kInvalid if a member that kubelet always writes is missing. The format may have changed, so a
// missing member does not count as empty. The checksum is not compared: it depends on Go's memory
// layout, and a torn file does not parse.
Result<Checkpoint> ParseCheckpoint(std::string_view text);
std::string WriteCheckpoint(const Checkpoint& checkpoint);

}  // namespace tessera::kubelet
