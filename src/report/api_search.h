// SPDX-License-Identifier: Apache-2.0
// Looks for access to an API server until there is some: a kubeconfig, a certificate that it names,
// or a pod's token may come after the agent. Owned by who wants to know. One thread: the loop's.
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
  // As of FindApiServer.
  ApiSearch(config::ApiConfig config, os::Root root, kube::Environment environment,
            std::string host_name);

  // Takes a look: a stat, as long as the file is as it was at the last one. Why there is no access
  // is logged once.
  std::optional<ApiTarget> Poll();
  // Whether there may be access later, where there is none now.
  bool worthwhile() const { return !file_.empty(); }

 private:
  const config::ApiConfig config_;
  const os::Root root_;
  const kube::Environment environment_;
  const std::string host_name_;
  const std::string file_;  // without which there is no access; empty: none would make any
  bool again_ = true;       // at the next look, whatever the file is then
  std::optional<os::FileInfo> seen_;
  std::string refusal_;  // why there is none, as the log last said
};

}  // namespace tessera
