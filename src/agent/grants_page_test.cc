// SPDX-License-Identifier: Apache-2.0
#include "agent/grants_page.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tessera::agent {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

class GrantsPageTest : public testing::Test {
 protected:
  void Grant(const std::string& uid) {
    facts_.grants.emplace_back("0123", std::make_shared<BindingRecord>(BindingRecord{
                                           .resource = kGpu,
                                           .pod_uid = uid,
                                           .container = "main",
                                           .directory = "/usr/local/vgpu/containers/uid-1_main",
                                           .parts = {{"GPU-1", 4096, 30}}}));
  }
  std::string Page() { return json::Write(GrantsPage(facts_, {}, false)); }
  static std::string Granted(const std::string& space, const std::string& pod) {
    return R"({"grant":"0123","directory":"/usr/local/vgpu/containers/uid-1_main",)"
           R"("devices":[{"device":"GPU-1","memoryBytes":4294967296,"cores":30}],"uid":"uid-1",)"
           R"("container":"main","resource":"nvidia.com/gpu","division":"","namespace":")" +
           space + R"(","pod":")" + pod + R"("})";
  }
  static std::string Containers(const std::string& containers, const std::string& pods = "") {
    return R"({"node":"worker-1","released":false,"pods":{)" + pods +
           R"(},"directories":[],"containers":[)" + containers + "]}";
  }

  Ledger ledger_{Duration(1000)};
  BindContext context_;
  PodFacts facts_{.node = "worker-1", .ledger = ledger_, .context = context_};
};

TEST_F(GrantsPageTest, AGrantIsOnItBeforeKubeletReportsItsContainer) {
  Grant("uid-1");
  EXPECT_EQ(Page(), Containers(Granted("", "")));
  context_.pods.Put({.uid = "uid-1", .pod_namespace = "team", .name = "train-0"});
  EXPECT_EQ(Page(), Containers(Granted("team", "train-0"), R"("uid-1":"team/train-0")"));
}

TEST_F(GrantsPageTest, AGrantAndItsHoldingAreOneContainer) {
  Grant("uid-1");
  ledger_.Reconcile({{"team", "train-0", "uid-1", "main", kGpu, {"GPU-1::3"}}}, {kGpu}, {});
  EXPECT_EQ(Page(), Containers(Granted("team", "train-0")));
}

TEST_F(GrantsPageTest, AContainerThatWillNotRunAgainIsNotOnIt) {
  Grant("uid-1");
  context_.pods.Put({.uid = "uid-1",
                     .pod_namespace = "team",
                     .name = "train-0",
                     .phase = kube::Pod::Phase::kSucceeded});
  EXPECT_EQ(Page(), Containers("", R"("uid-1":"team/train-0")"));
}

TEST_F(GrantsPageTest, HoldersOfWholeDevicesAreOnItWithTheDevices) {
  ledger_.Reconcile(
      {{"team", "a", "", "main", kGpu, {"GPU-1"}}, {"team", "b", "", "main", kGpu, {"GPU-2"}}},
      {kGpu}, {});
  const auto of = [](const std::string& device, const std::string& pod) {
    return R"({"devices":[{"device":")" + device +
           R"("}],"uid":"","container":"main","resource":"nvidia.com/gpu","division":"",)"
           R"("namespace":"team","pod":")" +
           pod + R"("})";
  };
  EXPECT_EQ(Page(), Containers(of("GPU-1", "a") + "," + of("GPU-2", "b")));
}

}  // namespace
}  // namespace tessera::agent
