// SPDX-License-Identifier: Apache-2.0
// Waits for a handler's answer. Header-only, for tests.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

inline std::future<Result<Grant>> Ask(PluginHandler& handler, const std::vector<std::string>& ids) {
  const auto answer = std::make_shared<std::promise<Result<Grant>>>();
  handler.Allocate(ids, [answer](Result<Grant> grant) { answer->set_value(std::move(grant)); });
  return answer->get_future();
}

inline Result<Grant> Answered(PluginHandler& handler, const std::vector<std::string>& ids) {
  return Ask(handler, ids).get();
}

}  // namespace tessera::kubelet
