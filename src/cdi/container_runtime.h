// SPDX-License-Identifier: Apache-2.0
// Whether the node's container runtime reads CDI documents. Two sources tell: its configuration,
// where the agent may read it, and the versions in the node's status. Without evidence the answer
// is no. The versions are kept on disk, so that a restarted agent needs no API server. Any thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "config/load.h"
#include "json/json.h"
#include "os/files.h"

namespace tessera {

// As in a Node's status.nodeInfo; empty: unknown.
struct RuntimeVersions {
  std::string runtime{};  // "containerd://2.2.0"
  std::string kubelet{};  // "v1.36.3"
  bool operator==(const RuntimeVersions&) const = default;
};

RuntimeVersions VersionsOf(const json::Value& node);

// The evidence that containers can be given CDI devices by name, in a few words for people. Null:
// they cannot, or it is unknown. containerd 2.0 reads documents by default, 1.7 when its
// configuration says so. CRI-O does since 1.23. kubelet passes names on since 1.29.
std::optional<std::string> ShowsCdi(const os::Root& root, const RuntimeVersions& versions);

// The runtime handlers in all files that may be the configuration of kubelet's containerd. Null:
// unknown, as with CRI-O.
std::optional<std::set<std::string>> RuntimeHandlers(const os::Root& root,
                                                     const RuntimeVersions& versions);

// The versions last stored below the state directory.
RuntimeVersions RememberedVersions(const std::string& state_dir);
Status RememberVersions(const std::string& state_dir, const RuntimeVersions& versions);

// Applies PreferCdi to the configuration, if the runtime reads CDI and the documents' directories
// are the host's.
config::LoadResult SuitedToRuntime(config::LoadResult loaded);

}  // namespace tessera
