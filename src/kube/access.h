// SPDX-License-Identifier: Apache-2.0
// Where the API server is, how it proves itself, and who we are to it: from a pod's service account
// or from a kubeconfig. Plain data; any thread.
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

// PEM texts. Where a file is named, the text is what stood in it when the access was read, and it
// is read again when it changes: credentials are rotated while the agent runs.
struct Access {
  struct Text {
    std::string value{};
    std::string file{};  // empty: it stood in the kubeconfig itself, or there is none
    bool operator==(const Text&) const = default;
  };
  std::string host{};  // a name or an address literal, without brackets
  int port = 443;
  std::string path_prefix{};  // of all paths: "/k8s/clusters/c-1", or empty
  bool tls = true;
  std::string server_name{};  // that its certificate is checked for; empty: the host
  bool verify = true;         // false: the certificate is not checked
  Text ca{};                  // empty: the system's
  Text certificate{};         // the client's; empty: none
  Text key{};
  Text token{};  // the bearer's; empty: none
  bool operator==(const Access&) const = default;
};

// What is dangerous about an access that somebody chose so, each a sentence that says what follows
// and what to do.
std::vector<std::string> RisksOf(const Access& access);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// A pod's access: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and what lies below
// /var/run/secrets/kubernetes.io/serviceaccount. Nothing where no API server is configured, which
// is where the variables or the token are missing (a pod with automountServiceAccountToken: false).
Result<std::optional<Access>> InCluster(const os::Root& root, const Environment& environment);
// The token's file, which may come later; empty where the variables are missing.
std::string InClusterToken(const os::Root& root, const Environment& environment);

// The access that a kubeconfig's current context names. Its files are relative to it. kNotFound,
// kPermission; kInvalid where it is none, or asks for what is not supported (exec, auth-provider,
// user name and password, a proxy), naming it.
Result<Access> FromKubeconfig(const std::string& path);
// The same from a text that was read from `path`.
Result<Access> ParseKubeconfig(const std::string& path, std::string text);

// An access whose files are followed. One thread.
class Credentials {
 public:
  explicit Credentials(Access access) : access_(std::move(access)) {}
  const Access& access() const { return access_; }

  enum class Files : bool { kChanged, kAll };
  // Reads the files again that are others than at the last look, or all. What cannot be read, or is
  // empty, stays as it was: whoever writes it is not done.
  void Refresh(Files which = Files::kChanged);

 private:
  Access access_;
  std::map<std::string, os::FileInfo> seen_;
};

}  // namespace tessera::kube
