// SPDX-License-Identifier: Apache-2.0
// One container's shares of one resource, as kubelet reports them. Plain data; any thread.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct Holding {
  std::string pod_namespace;  // empty: only the checkpoint has it
  std::string pod;            // empty: only the checkpoint has it
  std::string pod_uid;        // empty: only pod-resources has it
  std::string container;
  std::string resource;
  std::vector<std::string> share_ids;  // natural order
  bool operator==(const Holding&) const = default;
};

}  // namespace tessera
