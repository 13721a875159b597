// SPDX-License-Identifier: Apache-2.0
// Shares of AMD GPUs: a scheduler chose them, and each container gets compute units of its own.
#include <fmt/core.h>

#include <set>

#include "agent_fixture.h"
#include "amd/node.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"
#include "os/files.h"
#include "pod_server.h"
#include "requested_vgpus.h"

namespace tessera {
namespace {

constexpr char kAmdGpu[] = "amd.com/gpu";
constexpr char kShares[] =
    "  - {name: amd.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
    "ab.com/gpu, dir: /cdi}, amd: {exporter: \"off\"}}\n";
constexpr char kFirst[] = "e3ff74a1-0000-1000-80aa-140f9a5f9e31";

class AmdSharesTest : public AgentTest {
 protected:
  std::string Extra() const { return OfWorker(dir_ + "/node", dir_, api_.port()); }
  // A pod whose only container asks for a quarter of the first GPU.
  void Place(const std::string& uid) {
    const json::Object limits{
        {kAmdGpu, "1"}, {"amd.com/gpumem", "49152"}, {"amd.com/gpucores", "25"}};
    const json::Object container{{"name", "main"}, {"resources", json::Object{{"limits", limits}}}};
    api_.Add(
        {{"metadata",
          json::Object{{"name", uid},
                       {"namespace", "team"},
                       {"uid", uid},
                       {"resourceVersion", "1"},
                       {"annotations", json::Object{{"hami.io/vgpu-node", "worker-1"},
                                                    {"hami.io/amd-devices-allocated",
                                                     fmt::format("{},AMD,49152,76:;", kFirst)}}}}},
         {"spec", json::Object{{"nodeName", "worker-1"}, {"containers", json::Array{container}}}},
         {"status", json::Object{{"phase", "Pending"}}}});
  }
  // The variables of its container's document, or why it was not started.
  std::set<std::string> Run(const std::string& uid) {
    const kubelet::Admission pod =
        kubelet_->RunPod({.pod_namespace = "team",
                          .name = uid,
                          .uid = uid,
                          .containers = {{.name = "main", .limits = {{kAmdGpu, 1}}}}});
    if (!pod.start_failures.empty()) return {pod.start_failures[0].second};
    if (!pod.admitted) return {pod.message};
    const std::string& name = pod.grants.at(0).response.annotations.at(kGrantAnnotation);
    const auto text = os::ReadFile(dir_ + "/node/cdi/" + GrantFileName(name));
    if (!text) return {"no document"};
    const std::vector<std::string> env = cdi::Read(*text).value().devices.at(0).edits.env;
    return {env.begin(), env.end()};
  }

  using NodeUnderTest::Await;

  amd::AmdNode node_{dir_ + "/node", amd::Mi300x()};
  PodServer api_;
};

TEST_F(AmdSharesTest, TwoPodsOnAGpuHaveComputeUnitsOfTheirOwn) {
  Place("uid-1");
  Place("uid-2");
  StartAll(kShares, Extra());
  Expect(kAmdGpu, 80, 80);

  EXPECT_EQ(Run("uid-1"), (std::set<std::string>{"HSA_CU_MASK=0:0-75",
                                                 "ROCR_VISIBLE_DEVICES=GPU-e3aa140f9a5f9e31"}));
  EXPECT_EQ(Run("uid-2"), (std::set<std::string>{"HSA_CU_MASK=0:76-151",
                                                 "ROCR_VISIBLE_DEVICES=GPU-e3aa140f9a5f9e31"}));
}

TEST_F(AmdSharesTest, HamisSchedulerIsToldOfTheGpus) {
  StartAll(kShares, Extra());
  Expect(kAmdGpu, 80, 80);

  const auto told = [&] { return api_.NodeAnnotation("hami.io/node-amd-register"); };
  ASSERT_TRUE(Await([&] { return told().find("health") != std::string::npos; }));
  EXPECT_EQ(told().substr(0, told().find("}}") + 2),
            fmt::format(R"([{{"id":"{}","index":1,"count":10,"devmem":196592,"devcore":304,)"
                        R"("type":"AMD Instinct MI300X OAM","health":true,"devicevendor":"amd",)"
                        R"("custominfo":{{"pciBDF":"0000:05:00.0"}}}})",
                        kFirst));
}

}  // namespace
}  // namespace tessera
