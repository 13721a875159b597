// SPDX-License-Identifier: Apache-2.0
// The kubeconfig by which a program under test finds a fake API server. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::fake {

// Writes DIRECTORY/kubeconfig, with a token, for a server on 127.0.0.1. Returns the file's path.
// `authority`: the PEM certificate of the server's CA. Empty: the server speaks plain HTTP.
Result<std::string> WriteKubeconfig(const std::string& directory, int port,
                                    const std::string& authority);

}  // namespace tessera::fake
