// SPDX-License-Identifier: Apache-2.0
// Whether this node can make a resource's virtual GPUs, known before a pod comes: the library
// exists, and its directories can be used. Changes go to the log and the metrics. Owned by
// ServedResource. One thread: the loop's.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "config/schema/config.h"
#include "fraction/grant_trouble.h"
#include "http/metrics.h"
#include "os/files.h"

namespace tessera {

class GrantReadiness {
 public:
  explicit GrantReadiness(http::Metrics& metrics) : metrics_(metrics) {}

  struct Findings {
    std::optional<Error> obstacle{};  // why none can be granted
    bool other_library = false;       // `resource` names another file as the library now
  };
  // Checks the node's files. If a rule finds the library, it is searched again.
  Findings CheckFiles(config::Resource& resource, const os::Root& root);
  // The last obstacle. The text names the resource.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void ReportObstacle(const std::string& resource, const std::optional<Error>& obstacle);
  void WarnOfMounts(const config::Resource& resource, const os::Root& root);

  http::Metrics& metrics_;
  std::optional<Error> trouble_;         // as last logged
  std::optional<MissingFlags> missing_;  // as last logged
};

}  // namespace tessera
