// SPDX-License-Identifier: Apache-2.0
// Texts in the form of Go's kubelet, so that a person reads the same as on a node. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera::kubelet::embedded {

// Go's %q: quoted, with quotes, backslashes and control characters escaped.
std::string Quoted(std::string_view text);
// grpc-go's text of a failed call: "rpc error: code = Unavailable desc = ...". `code`: gRPC's
// number.
std::string RpcErrorText(int code, std::string_view message);

}  // namespace tessera::kubelet::embedded
