// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <charconv>

#include "base/quote.h"
#include "base/text.h"
#include "kube/access_text.h"

namespace tessera::kube {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr char kHost[] = "KUBERNETES_SERVICE_HOST";
constexpr char kPort[] = "KUBERNETES_SERVICE_PORT";
constexpr size_t kMaxText = 1 << 20;

}  // namespace

std::vector<std::string> RisksOf(const Access& access) {
  std::vector<std::string> risks;
  const bool token = !access.token.value.empty() || !access.token.file.empty();
  if (access.tls && !access.verify) {
    risks.push_back(
        fmt::format("the kubeconfig sets insecure-skip-tls-verify: an attacker on the network can "
                    "impersonate the API server{}; set certificate-authority instead",
                    token ? " and read the token" : ""));
  }
  if (!access.tls && token) {
    risks.emplace_back(
        "the kubeconfig's server is http://: an attacker on the network can read the token and "
        "impersonate the API server; use https:// and set certificate-authority");
  }
  return risks;
}

std::string InClusterToken(const os::Root& root, const Environment& environment) {
  for (const char* variable : {kHost, kPort}) {
    if (environment(variable).value_or("").empty()) return "";
  }
  return root.Path(kServiceAccount) + "token";
}

Result<std::optional<Access>> InCluster(const os::Root& root, const Environment& environment) {
  const std::string file = InClusterToken(root, environment);
  if (file.empty()) return std::optional<Access>();
  auto token = ReadText(file);
  if (!token && token.error().reason == Reason::kNotFound) return std::optional<Access>();
  Access access;
  access.host = *environment(kHost);
  access.port = TRY_IN(ParsePort(*environment(kPort)), kPort);
  access.token = TRY(std::move(token));
  access.ca = TRY(ReadText(root.Path(kServiceAccount) + "ca.crt"));
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
