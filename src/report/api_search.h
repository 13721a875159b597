// SPDX-License-Identifier: Apache-2.0
// Polls for access to an API server. A kubeconfig, its certificates or a pod's token may appear
// after the agent has started. Owned by NodeReporter. One thread: the loop's.
#pragma once

#include <optional>
#include <string>

#include "config/schema/config.h"
#include "kube/access.h"
#include "os/files.h"
#include "report/api_server.h"

namespace tessera {

class ApiSearch {
 public:
  // The arguments of FindApiServer.
  ApiSearch(config::ApiConfig config, os::Root root, kube::Environment environment,
            std::string host_name);

  // Looks for access. If the file has not changed since the last call, this costs only a stat. Logs
  // each cause of no access once.
  std::optional<ApiTarget> Poll();
  // True if access may appear later.
  bool worthwhile() const { return !file_.empty(); }

 private:
  const config::ApiConfig config_;
  const os::Root root_;
  const kube::Environment environment_;
  const std::string host_name_;
  const std::string file_;  // the file that access needs; empty: access is impossible
  bool again_ = true;       // the next Poll looks even if the file has not changed
  std::optional<os::FileInfo> seen_;
  std::string refusal_;  // the logged cause of no access
};

}  // namespace tessera
