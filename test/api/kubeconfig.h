// SPDX-License-Identifier: Apache-2.0
// How a program under test is told to reach a fake API server.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::fake {

// Writes DIRECTORY/kubeconfig, with a token, for a server on 127.0.0.1; its path. `authority` is
// the certificate that the server's is signed by, in PEM; empty: the server speaks without TLS.
Result<std::string> WriteKubeconfig(const std::string& directory, int port,
                                    const std::string& authority);

}  // namespace tessera::fake
