// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera::kube {
namespace {

constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

class AccessTest : public testing::Test {
 protected:
  AccessTest() { (void)os::MakeDirectories(root_.Path(kAccount)); }
  ~AccessTest() override { (void)os::RemoveTree(root_.prefix()); }

  std::string Put(const std::string& name, const std::string& text) {
    const std::string path = root_.Path(kAccount) + "/" + name;
    EXPECT_TRUE(os::ReplaceFile(path, text).has_value());
    return path;
  }
  Result<std::optional<Access>> Find() {
    return InCluster(root_, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      if (found == environment_.end()) return std::nullopt;
      return found->second;
    });
  }

  const os::Root root_{os::MakeTemporaryDirectory("/tmp/tessera-access-").value()};
  std::map<std::string, std::string> environment_ = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                     {"KUBERNETES_SERVICE_PORT", "6443"}};
};

TEST_F(AccessTest, APodsIsItsServiceAccounts) {
  Access expected;
  expected.host = "10.96.0.1";
  expected.port = 6443;
  expected.ca = {.value = "a CA", .file = Put("ca.crt", "a CA\n")};
  expected.token = {.value = "secret", .file = Put("token", "secret\n")};

  const auto access = Find();

  ASSERT_TRUE(access.has_value()) << access.error().message;
  EXPECT_EQ(*access, expected);
}

TEST_F(AccessTest, WithoutTheVariablesOrTheTokenThereIsNone) {
  EXPECT_EQ(Find().value(), std::nullopt);

  Put("token", "secret");
  environment_.erase("KUBERNETES_SERVICE_PORT");
  EXPECT_EQ(Find().value(), std::nullopt);

  environment_ = {{"KUBERNETES_SERVICE_HOST", ""}, {"KUBERNETES_SERVICE_PORT", "443"}};
  EXPECT_EQ(Find().value(), std::nullopt);
}

TEST_F(AccessTest, APortThatIsNoneIsNamed) {
  Put("token", "secret");
  environment_["KUBERNETES_SERVICE_PORT"] = "tcp://10.0.0.1:443";

  EXPECT_EQ(Find().error(),
            (Error{Reason::kInvalid, "KUBERNETES_SERVICE_PORT: tcp://10.0.0.1:443 is not a port"}));
}

TEST_F(AccessTest, AMissingAuthorityIsAnError) {
  Put("token", "secret");

  EXPECT_EQ(Find().error(), (Error{Reason::kNotFound, "cannot open " + root_.Path(kAccount) +
                                                          "/ca.crt: No such file or directory"}));
}

TEST_F(AccessTest, FilesAreReadAgainWhenTheyChange) {
  Access access;
  access.token = {.value = "first", .file = Put("token", "first")};
  Credentials credentials(access);
  credentials.Refresh();
  EXPECT_EQ(credentials.access().token.value, "first");

  Put("token", "second\n");
  credentials.Refresh();
  EXPECT_EQ(credentials.access().token.value, "second");
}

TEST_F(AccessTest, WhatIsGoneOrEmptyLeavesWhatWas) {
  Access access;
  access.token = {.value = "first", .file = Put("token", "first")};
  Credentials credentials(access);

  Put("token", "");
  credentials.Refresh();
  EXPECT_EQ(credentials.access().token.value, "first");
  (void)os::RemoveFile(access.token.file);
  credentials.Refresh(Credentials::Files::kAll);
  EXPECT_EQ(credentials.access().token.value, "first");
}

TEST(RisksTest, AreSaidWithWhatFollowsAndWhatToDo) {
  using Texts = std::vector<std::string>;
  Access access;
  access.token.value = "secret";
  EXPECT_EQ(RisksOf(access), Texts());

  access.tls = false;
  EXPECT_EQ(
      RisksOf(access),
      Texts{"the kubeconfig's server is http://: an attacker on the network can read the token and "
            "impersonate the API server; use https:// and set certificate-authority"});
  access.token.value.clear();
  EXPECT_EQ(RisksOf(access), Texts());

  access.tls = true;
  access.verify = false;
  EXPECT_EQ(RisksOf(access),
            Texts{"the kubeconfig sets insecure-skip-tls-verify: an attacker on the network can "
                  "impersonate the API server; set certificate-authority instead"});
}

}  // namespace
}  // namespace tessera::kube
