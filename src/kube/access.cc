// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <charconv>

#include "base/quote.h"
#include "base/text.h"
#include "kube/access_text.h"

namespace tessera::kube {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr size_t kMaxText = 1 << 20;

}  // namespace

Result<std::optional<Access>> InCluster(const os::Root& root, const Environment& environment) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  const std::string port = environment("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) return std::optional<Access>();
  const std::string directory = root.Path(kServiceAccount);
  auto token = ReadText(directory + "token");
  if (!token && token.error().reason == Reason::kNotFound) return std::optional<Access>();
  Access access;
  access.host = host;
  access.port = TRY_IN(ParsePort(port), "KUBERNETES_SERVICE_PORT");
  access.token = TRY(std::move(token));
  access.ca = TRY(ReadText(directory + "ca.crt"));
  return std::optional<Access>(std::move(access));
}

Result<Access::Text> ReadText(const std::string& path) {
  const std::string text = TRY(os::ReadFile(path, kMaxText));
  return Access::Text{.value = std::string(Trim(text)), .file = path};
}

Result<int> ParsePort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535) {
    return Fail(Reason::kInvalid, "{} is not a port", Brief(text));
  }
  return port;
}

void Credentials::Refresh(Files which) {
  for (Access::Text* text : {&access_.ca, &access_.certificate, &access_.key, &access_.token}) {
    if (text->file.empty()) continue;
    const auto now = os::InspectTarget(text->file);
    if (!now) continue;
    const auto seen = seen_.find(text->file);
    if (which == Files::kChanged && seen != seen_.end() && seen->second == *now) continue;
    const auto read = ReadText(text->file);
    if (!read || read->value.empty()) continue;
    text->value = read->value;
    seen_[text->file] = *now;
  }
}

}  // namespace tessera::kube
