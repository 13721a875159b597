// SPDX-License-Identifier: Apache-2.0
// Whether the node's container runtime reads CDI documents: what its own configuration says, where
// the agent may read that, and the versions in the node's status. What nobody shows counts as no.
// The versions are remembered, so that an agent that begins anew needs no API server to know. Any
// thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "config/load.h"
#include "json/json.h"
#include "os/files.h"

namespace tessera {

// As in a Node's status.nodeInfo; empty: not known.
struct RuntimeVersions {
  std::string runtime{};  // "containerd://2.2.0"
  std::string kubelet{};  // "v1.36.3"
  bool operator==(const RuntimeVersions&) const = default;
};

RuntimeVersions VersionsOf(const json::Value& node);

// What shows that containers can be given CDI devices by their names, in a few words for people.
// Nothing: they cannot, or nobody knows. containerd reads documents from 2.0 on unless it is told
// not to, 1.7 when it is told to; CRI-O from 1.23 on; kubelet hands names on from 1.29 on.
std::optional<std::string> ShowsCdi(const os::Root& root, const RuntimeVersions& versions);

// The handlers of containers' runtimes that containerd's own configuration has, those of all files
// that may be kubelet's; nothing where nobody knows, as with CRI-O.
std::optional<std::set<std::string>> RuntimeHandlers(const os::Root& root,
                                                     const RuntimeVersions& versions);

// Below the state directory.
RuntimeVersions RememberedVersions(const std::string& state_dir);
Status RememberVersions(const std::string& state_dir, const RuntimeVersions& versions);

// The configuration as this node's runtime wants it: PreferCdi, where that is shown and the
// documents' directories are the host's.
config::LoadResult SuitedToRuntime(config::LoadResult loaded);

}  // namespace tessera
