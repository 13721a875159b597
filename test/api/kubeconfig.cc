// SPDX-License-Identifier: Apache-2.0
#include "api/kubeconfig.h"

#include <fmt/core.h>

#include "os/files.h"

namespace tessera::fake {

Result<std::string> WriteKubeconfig(const std::string& directory, int port,
                                    const std::string& authority) {
  const std::string file = directory + "/kubeconfig";
  std::string cluster = fmt::format("server: \"http://127.0.0.1:{}\"", port);
  if (!authority.empty()) {
    TRY(os::ReplaceFile(directory + "/ca.crt", authority));
    cluster = fmt::format("server: \"https://127.0.0.1:{}\", certificate-authority: {}/ca.crt",
                          port, directory);
  }
  TRY(os::ReplaceFile(file,
                      fmt::format("current-context: c\n"
                                  "contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                                  "users: [{{name: u, user: {{token: secret}}}}]\n"
                                  "clusters: [{{name: k, cluster: {{{}}}}}]\n",
                                  cluster)));
  return file;
}

}  // namespace tessera::fake
