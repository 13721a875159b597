// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kube/access.h"

namespace tessera::kube {
namespace {

// A kubeconfig with one cluster and one user, each with these lines.
std::string Config(const std::string& cluster, const std::string& user) {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: here
contexts:
- name: there
  context: {{cluster: other, user: other}}
- name: here
  context: {{cluster: c, user: u, namespace: x}}
clusters:
- name: c
  cluster: {}
users:
- name: u
  user: {}
)",
                     cluster, user);
}

constexpr char kPath[] = "/nowhere/config";
constexpr char kServer[] = "{server: 'https://10.0.0.1:6443'}";

std::string Trouble(const std::string& text) {
  const auto access = ParseKubeconfig(kPath, text);
  if (access) return "none";
  EXPECT_EQ(access.error().reason, Reason::kInvalid);
  return access.error().message;
}

TEST(Kubeconfig, TheCurrentContextsClusterAndUserAreTaken) {
  Access expected;
  expected.host = "10.0.0.1";
  expected.port = 6443;
  expected.path_prefix = "/k8s/c";
  expected.server_name = "api.test";
  expected.ca.value = "foo";
  expected.certificate.value = "foob";
  expected.key.value = "fooba";
  expected.token.value = "secret";

  const auto access = ParseKubeconfig(
      kPath, Config("{server: 'https://10.0.0.1:6443/k8s/c/', tls-server-name: api.test, "
                    "certificate-authority-data: Zm9v}",
                    "{client-certificate-data: Zm9vYg==, client-key-data: Zm9vYmE=, "
                    "token: secret}"));

  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(*access, expected);
}

TEST(Kubeconfig, MayBeJson) {
  const auto access = ParseKubeconfig(kPath, R"({"current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "c", "user": ""}}],
    "clusters": [{"name": "c", "cluster": {"server": "http:\/\/[::1]:8080",
                                           "insecure-skip-tls-verify": true}}]})");

  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(access->host, "::1");
  EXPECT_EQ(access->port, 8080);
  EXPECT_FALSE(access->tls);
  EXPECT_FALSE(access->verify);
}

TEST(Kubeconfig, FilesAreRelativeToIt) {
  const std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-kubeconfig-").value();
  ASSERT_TRUE(os::ReplaceFile(directory + "/ca.pem", "a CA\n").has_value());
  ASSERT_TRUE(os::ReplaceFile(directory + "/token", "secret\n").has_value());
  ASSERT_TRUE(os::ReplaceFile(directory + "/config",
                              Config("{server: 'https://api.test', certificate-authority: ca.pem}",
                                     "{token: old, tokenFile: " + directory + "/token}"))
                  .has_value());

  const auto access = FromKubeconfig(directory + "/config");

  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(access->host, "api.test");
  EXPECT_EQ(access->port, 443);
  EXPECT_EQ(access->ca, (Access::Text{.value = "a CA", .file = directory + "/ca.pem"}));
  EXPECT_EQ(access->token, (Access::Text{.value = "secret", .file = directory + "/token"}));
  (void)os::RemoveTree(directory);
}

TEST(Kubeconfig, AMissingFileIsNotFound) {
  EXPECT_EQ(FromKubeconfig(kPath).error(),
            (Error{Reason::kNotFound, "cannot open /nowhere/config: No such file or directory"}));
  EXPECT_EQ(ParseKubeconfig(kPath, Config(kServer, "{tokenFile: t}")).error(),
            (Error{Reason::kNotFound,
                   "/nowhere/config: user u: cannot open /nowhere/t: No such file or directory"}));
}

TEST(Kubeconfig, WhatIsNotSupportedIsNamed) {
  const std::string instead = "give the user a client certificate, a token or a tokenFile";
  EXPECT_EQ(Trouble(Config(kServer, "{exec: {command: aws}}")),
            "/nowhere/config: user u: 'exec' is not supported: " + instead);
  EXPECT_EQ(Trouble(Config(kServer, "{auth-provider: {name: gcp}}")),
            "/nowhere/config: user u: 'auth-provider' is not supported: " + instead);
  EXPECT_EQ(Trouble(Config(kServer, "{username: a, password: b}")),
            "/nowhere/config: user u: 'username' is not supported: " + instead);
  EXPECT_EQ(
      Trouble(Config("{server: 'https://a', proxy-url: 'http://p'}", "{}")),
      "/nowhere/config: cluster c: 'proxy-url' is not supported: take it out and let the node "
      "reach the server directly");
}

TEST(Kubeconfig, WhatIsWrongIsNamed) {
  EXPECT_EQ(Trouble("current-context: [\n").substr(0, 22), "/nowhere/config: line ");
  EXPECT_EQ(Trouble("a: b"), "/nowhere/config: it has no current-context");
  EXPECT_EQ(Trouble("current-context: x"), "/nowhere/config: there is no context x");
  EXPECT_EQ(Trouble("current-context: [x]"), "/nowhere/config: 'current-context' is not a string");
  EXPECT_EQ(Trouble(Config(kServer, "{client-key-data: Zm9v}")),
            "/nowhere/config: user u: 'client-certificate' and 'client-key' must be set together");
  EXPECT_EQ(Trouble(Config(kServer, "{client-key-data: '*'}")),
            "/nowhere/config: user u: 'client-key-data' is not base64");
  EXPECT_EQ(Trouble(Config("{server: 'https://a', insecure-skip-tls-verify: yes}", "{}")),
            "/nowhere/config: cluster c: 'insecure-skip-tls-verify' is neither true nor false");
}

TEST(Kubeconfig, ServersThatAreNoneAreNamed) {
  for (const char* url : {"a:6443", "ftp://a", "https://", "https://u@a", "https://[::1",
                          "https://[::1]x:1", "https://a?b", "https://:443"}) {
    EXPECT_EQ(Trouble(Config(fmt::format("{{server: '{}'}}", url), "{}")),
              fmt::format("/nowhere/config: cluster c: the server {} is not of the form "
                          "https://HOST:PORT",
                          url));
  }
  EXPECT_EQ(Trouble(Config("{server: 'https://a:x'}", "{}")),
            "/nowhere/config: cluster c: the server: x is not a port");
}

}  // namespace
}  // namespace tessera::kube
