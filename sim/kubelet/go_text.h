// SPDX-License-Identifier: Apache-2.0
// Texts as Go's kubelet writes them, so that a person reads here what they would read on a node.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::kubelet::embedded {

// Go's %q: quoted, with quotes, backslashes and control characters escaped.
std::string Quoted(std::string_view text);
// grpc-go's text of a failed call: "rpc error: code = Unavailable desc = ...". `code` is gRPC's
// number.
std::string RpcErrorText(int code, std::string_view message);

}  // namespace tessera::kubelet::embedded
