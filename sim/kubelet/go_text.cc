// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/go_text.h"

#include <fmt/core.h>

#include <array>

namespace tessera::kubelet::embedded {
namespace {

constexpr std::array<std::string_view, 17> kCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

// grpc++'s own messages, in grpc-go's words.
std::string_view InGo(int code, std::string_view message) {
  if (code == 4 && message == "Deadline Exceeded") return "context deadline exceeded";
  if (code == 1 && (message == "CANCELLED" || message == "Cancelled")) {
    return "grpc: the client connection is closing";
  }
  return message;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          quoted += c;
        }
    }
  }
  return quoted + '"';
}

std::string RpcErrorText(int code, std::string_view message) {
  bool known = code >= 0 && code < static_cast<int>(kCodes.size());
  std::string name =
      known ? std::string(kCodes[static_cast<size_t>(code)]) : fmt::format("Code({})", code);
  return fmt::format("rpc error: code = {} desc = {}", name, InGo(code, message));
}

}  // namespace tessera::kubelet::embedded
