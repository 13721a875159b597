// SPDX-License-Identifier: Apache-2.0
// A call of one gRPC method at a unix socket, by the bytes of its messages. For folders that do not
// know gRPC. Any thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::kubelet {

// `method`: "/package.Service/Method". Waits for the answer, so it belongs on a worker.
// kUnavailable: no server. kTimedOut. kNotFound: the server has no such method. kInvalid: another
// refusal, or an answer of more than 1 MiB.
Result<std::string> CallUnix(const std::string& socket_path, const std::string& method,
                             const std::string& request, Duration timeout);

}  // namespace tessera::kubelet
