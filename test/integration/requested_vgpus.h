// SPDX-License-Identifier: Apache-2.0
// For tests: a node whose GPUs have ten virtual ones each, of sizes that pods request. The agent
// asks the test's own API server.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "os/files.h"

namespace tessera {

inline constexpr char kTenRequested[] =
    "  - {name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
    "ab.com/gpu, dir: /cdi}, nvidia: {vgpu: {mode: requested}}}\n";

// The part of the configuration for worker-1: the node's files are below `root`, the API server is
// at the port. The kubeconfig is written into `directory`.
inline std::string OfWorker(const std::string& root, const std::string& directory, int port) {
  const std::string file = directory + "/kubeconfig";
  static constexpr char kKubeconfig[] = R"(apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
)";
  EXPECT_TRUE(os::ReplaceFile(file, fmt::format(kKubeconfig, port)));
  return fmt::format("rootPrefix: {}\napi: {{kubeconfig: {}, nodeName: worker-1}}\n", root, file);
}

}  // namespace tessera
