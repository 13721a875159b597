// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/quote.h"
#include "config/schema/yaml.h"
#include "kube/access.h"
#include "kube/access_text.h"
#include "os/files.h"

namespace tessera::kube {
namespace {

using config::Node;

bool IsEmpty(const Node* node) {
  return node == nullptr || node->IsNull() || (node->IsScalar() && node->scalar.empty());
}

// The text under `key`, or empty.
Result<std::string> TextOf(const Node& map, const std::string& key) {
  const Node* node = map.Find(key);
  if (IsEmpty(node)) return "";
  if (!node->IsScalar()) return Fail(Reason::kInvalid, "'{}' is not a string", key);
  return node->scalar;
}

Result<bool> IsTrue(const Node& map, const std::string& key) {
  const std::string text = TRY(TextOf(map, key));
  if (text == "true" || text == "false" || text.empty()) return text == "true";
  return Fail(Reason::kInvalid, "'{}' is neither true nor false", key);
}

// The value `what` of the entry with this name in the list.
Result<const Node*> Named(const Node& root, const std::string& list, const std::string& what,
                          const std::string& name) {
  if (const Node* all = root.Find(list)) {
    for (const Node& entry : all->items) {
      if (TRY(TextOf(entry, "name")) != name) continue;
      const Node* found = entry.Find(what);
      if (found != nullptr && found->IsMap()) return found;
    }
  }
  return Fail(Reason::kInvalid, "there is no {} {}", what, Brief(name));
}

Status Refuse(const Node& map, const std::string& key, std::string_view instead) {
  if (IsEmpty(map.Find(key))) return {};
  return Fail(Reason::kInvalid, "'{}' is not supported: {}", key, instead);
}

std::string Absolute(const std::string& file, const std::string& directory) {
  return file.starts_with('/') ? file : directory + file;
}

// The base64 text under KEY-data, or the content of the file under KEY.
Result<Access::Text> Material(const Node& map, const std::string& key,
                              const std::string& directory) {
  const std::string data = TRY(TextOf(map, key + "-data"));
  if (!data.empty()) {
    const auto bytes = DecodeBase64(data);
    if (!bytes) return Fail(Reason::kInvalid, "'{}-data' is not base64", key);
    return Access::Text{.value = *bytes};
  }
  const std::string file = TRY(TextOf(map, key));
  if (file.empty()) return Access::Text{};
  return ReadText(Absolute(file, directory));
}

// "https://HOST", "https://HOST:PORT/PATH"; HOST an IPv6 address in brackets.
Status ReadServer(const std::string& url, Access& access) {
  const auto bad = [&] {
    return Fail(Reason::kInvalid, "the server {} is not of the form https://HOST:PORT", Brief(url));
  };
  access.tls = url.starts_with("https://");
  if (!access.tls && !url.starts_with("http://")) return bad();
  access.port = access.tls ? 443 : 80;
  const bool plain = std::all_of(url.begin(), url.end(), [](char c) {
    return c > ' ' && c <= '~' && std::string_view("@?#\"\\").find(c) == std::string_view::npos;
  });
  std::string_view rest = std::string_view(url).substr(access.tls ? 8 : 7);
  const size_t slash = std::min(rest.find('/'), rest.size());
  access.path_prefix = rest.substr(slash);
  while (access.path_prefix.ends_with('/')) access.path_prefix.pop_back();
  rest = rest.substr(0, slash);
  const size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (!plain || bracket == rest.npos) return bad();
  const size_t colon = rest.find(':', bracket);
  if (colon != rest.npos) access.port = TRY_IN(ParsePort(rest.substr(colon + 1)), "the server");
  rest = rest.substr(0, colon);
  if (bracket != 0) rest = bracket + 1 == rest.size() ? rest.substr(1, bracket - 1) : "";
  if (rest.empty()) return bad();
  access.host = rest;
  return {};
}

Status ReadCluster(const Node& cluster, const std::string& directory, Access& access) {
  TRY(Refuse(cluster, "proxy-url", "take it out and let the node reach the server directly"));
  const std::string server = TRY(TextOf(cluster, "server"));
  TRY(ReadServer(server, access));
  access.server_name = TRY(TextOf(cluster, "tls-server-name"));
  access.verify = !TRY(IsTrue(cluster, "insecure-skip-tls-verify"));
  access.ca = TRY(Material(cluster, "certificate-authority", directory));
  return {};
}

Status ReadUser(const Node& user, const std::string& directory, Access& access) {
  for (const char* key : {"exec", "auth-provider", "username", "password", "as"}) {
    TRY(Refuse(user, key, "give the user a client certificate, a token or a tokenFile"));
  }
  access.certificate = TRY(Material(user, "client-certificate", directory));
  access.key = TRY(Material(user, "client-key", directory));
  if (access.certificate.value.empty() != access.key.value.empty()) {
    return Fail(Reason::kInvalid, "'client-certificate' and 'client-key' must be set together");
  }
  const std::string file = TRY(TextOf(user, "tokenFile"));
  if (file.empty()) {
    access.token.value = TRY(TextOf(user, "token"));
  } else {
    access.token = TRY(ReadText(Absolute(file, directory)));
  }
  return {};
}

Result<Access> CurrentAccess(const config::Document& document, const std::string& directory) {
  if (!document.ok()) {
    const config::Problem& first = document.problems().front();
    return Fail(Reason::kInvalid, "line {}: {}", first.line, first.message);
  }
  const Node& root = document.root();
  const std::string name = TRY(TextOf(root, "current-context"));
  if (name.empty()) return Fail(Reason::kInvalid, "it has no current-context");
  const Node* context = TRY(Named(root, "contexts", "context", name));
  const std::string cluster_name = TRY(TextOf(*context, "cluster"));
  const Node* cluster = TRY(Named(root, "clusters", "cluster", cluster_name));
  Access access;
  TRY_IN(ReadCluster(*cluster, directory, access), fmt::format("cluster {}", Brief(cluster_name)));
  const std::string user_name = TRY(TextOf(*context, "user"));
  if (user_name.empty()) return access;
  const Node* user = TRY(Named(root, "users", "user", user_name));
  TRY_IN(ReadUser(*user, directory, access), fmt::format("user {}", Brief(user_name)));
  return access;
}

}  // namespace

Result<Access> ParseKubeconfig(const std::string& path, std::string text) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return TRY_IN(CurrentAccess(config::Document::Parse(path, std::move(text)), directory), path);
}

Result<Access> FromKubeconfig(const std::string& path) {
  return ParseKubeconfig(path, TRY(os::ReadFile(path, config::Document::kMaxBytes + 1)));
}

}  // namespace tessera::kube
