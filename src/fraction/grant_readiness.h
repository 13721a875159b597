// SPDX-License-Identifier: Apache-2.0
// Whether this node can make a resource's virtual GPUs ready, known before a pod comes: the
// limiting library is there, and its directories can be used. The log and the metrics are told of
// what changes. Owned by the served resource. One thread: the loop's.
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
  // Looks at the node's files; a library that a rule finds is found anew.
  Findings CheckFiles(config::Resource& resource, const os::Root& root);
  // The obstacle that was last found; the text names the resource.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void ReportObstacle(const std::string& resource, const std::optional<Error>& obstacle);
  void WarnOfMounts(const config::Resource& resource, const os::Root& root);

  http::Metrics& metrics_;
  std::optional<Error> trouble_;         // as the log was told of it
  std::optional<MissingFlags> missing_;  // likewise
};

}  // namespace tessera
