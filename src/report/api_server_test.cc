// SPDX-License-Identifier: Apache-2.0
#include "report/api_server.h"

#include <gtest/gtest.h>

#include <string>

#include "os/files.h"
#include "report/variables_test.h"

namespace tessera {
namespace {

constexpr char kKubeconfig[] = R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://10.0.0.9:8080"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)";

class ApiServerTest : public testing::Test {
 protected:
  ~ApiServerTest() override { (void)os::RemoveTree(directory_); }

  void MakePod() {
    const std::string account = directory_ + "/var/run/secrets/kubernetes.io/serviceaccount";
    ASSERT_TRUE(os::MakeDirectories(account));
    ASSERT_TRUE(os::ReplaceFile(account + "/token", "secret"));
    ASSERT_TRUE(os::ReplaceFile(account + "/ca.crt", "pem"));
    variables_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
    variables_["KUBERNETES_SERVICE_PORT"] = "443";
  }
  void WriteKubeconfig(const std::string& text) {
    config_.kubeconfig = directory_ + "/kubeconfig";
    ASSERT_TRUE(os::ReplaceFile(config_.kubeconfig, text));
  }
  // "NODE at HOST:PORT", "none", or the error.
  std::string Found() {
    const auto place =
        FindApiServer(config_, os::Root(directory_), EnvironmentOf(variables_), "Machine");
    if (!place) return std::string(ReasonName(place.error().reason));
    if (!*place) return "none";
    return (*place)->node + " at " + (*place)->access.host + ":" +
           std::to_string((*place)->access.port);
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-api-").value();
  Variables variables_;
  config::ApiConfig config_;
};

TEST_F(ApiServerTest, WhoHasNoAccessTellsNobody) {
  variables_["NODE_NAME"] = "worker-1";

  EXPECT_EQ(Found(), "none");
}

TEST_F(ApiServerTest, APodTellsTheOneOfItsServiceAccountByTheNameOfItsNode) {
  MakePod();
  EXPECT_EQ(Found(), "none");

  variables_["NODE_NAME"] = "worker-1";
  EXPECT_EQ(Found(), "worker-1 at 10.96.0.1:443");

  config_.node_name = "worker-2";
  EXPECT_EQ(Found(), "worker-2 at 10.96.0.1:443");
}

TEST_F(ApiServerTest, WithAKubeconfigTheMachinesNameIsTheNodes) {
  WriteKubeconfig(kKubeconfig);
  EXPECT_EQ(Found(), "machine at 10.0.0.9:8080");

  variables_["NODE_NAME"] = "worker-1";
  EXPECT_EQ(Found(), "worker-1 at 10.0.0.9:8080");
}

TEST_F(ApiServerTest, SwitchedOffNobodyIsToldWhateverThereIs) {
  MakePod();
  variables_["NODE_NAME"] = "worker-1";
  config_.use = false;

  EXPECT_EQ(Found(), "none");
}

TEST_F(ApiServerTest, AKubeconfigThatIsNoneIsAnError) {
  WriteKubeconfig("[]");

  EXPECT_EQ(Found(), "invalid");
}

}  // namespace
}  // namespace tessera
