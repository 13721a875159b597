// SPDX-License-Identifier: Apache-2.0
// The API server's address, its proof of identity, and our credentials, from a pod's service
// account or a kubeconfig. Plain data. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/files.h"

namespace tessera::kube {

// Texts are PEM. A text with a file is that file's content when the access was read. It is read
// again when the file changes, because credentials rotate while the agent runs.
struct Access {
  struct Text {
    std::string value{};
    std::string file{};  // empty: inline in the kubeconfig, or none
    bool operator==(const Text&) const = default;
  };
  std::string host{};  // name or address literal, without brackets
  int port = 443;
  std::string path_prefix{};  // before all paths: "/k8s/clusters/c-1", or empty
  bool tls = true;
  std::string server_name{};  // name to verify in its certificate; empty: the host
  bool verify = true;         // false: its certificate is not verified
  Text ca{};                  // empty: the system's CAs
  Text certificate{};         // client certificate; empty: none
  Text key{};
  Text token{};  // bearer token; empty: none
  bool operator==(const Access&) const = default;
};

// The risks that the user chose with this access. Each is a sentence with the consequence and the
// remedy.
std::vector<std::string> RisksOf(const Access& access);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// A pod's access: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT, and the files below
// /var/run/secrets/kubernetes.io/serviceaccount. Nothing if the variables or the token are missing,
// as in a pod with automountServiceAccountToken: false.
Result<std::optional<Access>> InCluster(const os::Root& root, const Environment& environment);
// The path of the token's file, which may not exist yet. Empty if the variables are missing.
std::string InClusterToken(const os::Root& root, const Environment& environment);

// The access of a kubeconfig's current context. Relative paths start at its directory. Besides
// kNotFound and kPermission, it gives kInvalid for a malformed file or an unsupported feature. The
// message names the feature: exec, auth-provider, user name and password, or a proxy.
Result<Access> FromKubeconfig(const std::string& path);
// As FromKubeconfig, from a text that was read from `path`.
Result<Access> ParseKubeconfig(const std::string& path, std::string text);

// An access that follows its files. One thread.
class Credentials {
 public:
  explicit Credentials(Access access) : access_(std::move(access)) {}
  const Access& access() const { return access_; }

  enum class Files : bool { kChanged, kAll };
  // Reads changed files again, or all files. An unreadable or empty file keeps its former text,
  // since its writer may not have finished.
  void Refresh(Files which = Files::kChanged);

 private:
  Access access_;
  std::map<std::string, os::FileInfo> seen_;
};

}  // namespace tessera::kube
