// SPDX-License-Identifier: Apache-2.0
// One container's shares of one resource, as kubelet tells it. Plain data; any thread.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct Holding {
  std::string pod_namespace;  // empty when only the checkpoint knows it
  std::string pod;            // likewise
  std::string pod_uid;        // empty when only pod-resources knows it
  std::string container;
  std::string resource;
  std::vector<std::string> share_ids;  // natural order
  bool operator==(const Holding&) const = default;
};

}  // namespace tessera
