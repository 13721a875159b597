// SPDX-License-Identifier: Apache-2.0
// For tests: a node whose GPUs have ten virtual ones each, of the sizes that pods ask for, and an
// API server of the test's own that it asks.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "os/files.h"

namespace tessera {

inline constexpr char kTenRequested[] =
    "  - {name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
    "ab.com/gpu, dir: /cdi}, nvidia: {vgpu: {mode: requested}}}\n";

// More of a configuration: the node's files are below `root`, and worker-1 asks the server at the
// port. The kubeconfig is written into `directory`.
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
