// SPDX-License-Identifier: Apache-2.0
#include "report/api_search.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/captured_log_test.h"
#include "base/text.h"
#include "os/files.h"
#include "report/variables_test.h"

namespace tessera {
namespace {

constexpr char kGood[] = R"(
clusters: [{name: c, cluster: {server: "https://10.0.0.9:6443"}}]
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)";

class ApiSearchTest : public testing::Test {
 protected:
  ~ApiSearchTest() override { (void)os::RemoveTree(directory_); }

  void Put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(directory_ + "/" + name, text));
  }
  void Make() {
    search_.emplace(config_, os::Root(directory_), EnvironmentOf(variables_), "machine");
  }
  // "machine at 10.0.0.9", or "none".
  std::string Look() {
    const auto place = search_->Poll();
    return place ? place->node + " at " + place->access.host : "none";
  }
  size_t Warnings() const { return Split(told_.text(), '\n').size() - 1; }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-search-").value();
  Variables variables_;
  config::ApiConfig config_;
  CapturedLog told_;
  std::optional<ApiSearch> search_;
};

class KubeconfigSearchTest : public ApiSearchTest {
 protected:
  KubeconfigSearchTest() {
    config_.kubeconfig = directory_ + "/kubeconfig";
    Make();
  }
};

TEST_F(KubeconfigSearchTest, OneThatComesLaterIsFoundAndItsAbsenceIsToldOnce) {
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Look(), "none");
  EXPECT_TRUE(search_->worthwhile());
  EXPECT_EQ(Warnings(), 1U) << told_.text();

  Put("token", "secret");
  Put("kubeconfig", kGood);
  EXPECT_EQ(Look(), "machine at 10.0.0.9");
  EXPECT_EQ(Warnings(), 1U) << told_.text();
}

TEST_F(KubeconfigSearchTest, ABrokenOneIsToldOnceAndReadAgainWhenItChanges) {
  Put("token", "secret");
  Put("kubeconfig", "current-context: [");
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Warnings(), 1U) << told_.text();

  Put("kubeconfig", "current-context: x");
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Warnings(), 2U) << told_.text();

  Put("kubeconfig", kGood);
  EXPECT_EQ(Look(), "machine at 10.0.0.9");
}

TEST_F(KubeconfigSearchTest, AFileThatItNamesMayComeLaterThanItself) {
  Put("kubeconfig", kGood);
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Look(), "none");
  EXPECT_EQ(Warnings(), 1U) << told_.text();

  Put("token", "secret");
  EXPECT_EQ(Look(), "machine at 10.0.0.9");
}

TEST_F(ApiSearchTest, APodsTokenThatComesLaterIsFound) {
  variables_ = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                {"KUBERNETES_SERVICE_PORT", "443"},
                {"NODE_NAME", "worker-1"}};
  Make();
  EXPECT_EQ(Look(), "none");
  EXPECT_TRUE(search_->worthwhile());

  ASSERT_TRUE(os::MakeDirectories(directory_ + "/var/run/secrets/kubernetes.io/serviceaccount"));
  Put("var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "pem");
  Put("var/run/secrets/kubernetes.io/serviceaccount/token", "secret");
  EXPECT_EQ(Look(), "worker-1 at 10.96.0.1");
  EXPECT_EQ(told_.text(), "");
}

TEST_F(ApiSearchTest, WhereNoFileWouldGiveAccessNoneIsLookedFor) {
  Make();
  EXPECT_EQ(Look(), "none");
  EXPECT_FALSE(search_->worthwhile()) << "neither kubeconfig nor pod";

  variables_ = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  Make();
  EXPECT_FALSE(search_->worthwhile()) << "nobody says which node this is";

  config_.kubeconfig = directory_ + "/kubeconfig";
  config_.use = false;
  Make();
  EXPECT_FALSE(search_->worthwhile()) << "switched off";
}

}  // namespace
}  // namespace tessera
