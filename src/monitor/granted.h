// SPDX-License-Identifier: Apache-2.0
// The agent's page of grants (agent/grants_page.h), read. Pure; plain data; any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "monitor/containers.h"

namespace tessera::monitor {

struct Granted {
  std::string node{};
  bool released = false;                      // 'tessera release' closes the vendors' libraries
  std::set<std::string> directories{};        // of the limiter's files
  std::map<std::string, std::string> pods{};  // NAMESPACE/NAME by UID
  std::vector<Container> containers{};        // without regions
};

// kInvalid if the page is not an agent's. Containers and devices without a name are left out.
Result<Granted> ReadGranted(const json::Value& page);

}  // namespace tessera::monitor
