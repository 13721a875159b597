// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/stage.h"

#include <gtest/gtest.h>

#include <mutex>

#include "os/files.h"

namespace tessera::demo {
namespace {

// A real kubelet; the agent is any program, as these tests need none that works.
class StageTest : public ::testing::Test {
 protected:
  std::unique_ptr<Stage> Build(std::string program = "/bin/false") {
    return *Stage::Build(
        {.kubelet = {}, .program = std::move(program)},
        [this](Observation seen) {
          const std::lock_guard lock(mutex_);
          seen_.push_back(std::move(seen));
        },
        interruption_);
  }
  // The last observation of this kind.
  template <class T>
  T Last() {
    const std::lock_guard lock(mutex_);
    for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
      if (const T* what = std::get_if<T>(&seen->what)) return *what;
    }
    ADD_FAILURE() << "not observed";
    return {};
  }

  Interruption interruption_;
  std::mutex mutex_;
  std::vector<Observation> seen_;  // under mutex_
};

kubelet::PodSpec PodOf(const std::string& name, int count) {
  kubelet::PodSpec pod;
  pod.name = name;
  pod.containers = {
      {kMainContainer, kubelet::ContainerSpec::Kind::kApp, {{"dummy.com/npu", count}}}};
  return pod;
}

TEST_F(StageTest, DirectoryIsPrivateAndGoesWithTheStage) {
  std::unique_ptr<Stage> stage = Build();
  const std::string directory = stage->directory();
  EXPECT_EQ(os::Inspect(directory)->mode, 0700u);
  stage.reset();
  EXPECT_FALSE(os::Exists(directory));
}

TEST_F(StageTest, KubeletWithoutAPluginRefusesPods) {
  const std::unique_ptr<Stage> stage = Build();
  ASSERT_TRUE(stage->StartKubelet());
  EXPECT_FALSE(stage->RunPod(PodOf("p", 1)).admitted);
  EXPECT_EQ(Last<PodTried>().pod.name, "p");
}

TEST_F(StageTest, PodWithoutDevicesRunsAndEnds) {
  const std::unique_ptr<Stage> stage = Build();
  ASSERT_TRUE(stage->StartKubelet());
  kubelet::PodSpec pod = PodOf("p", 1);
  pod.containers[0].limits.clear();
  EXPECT_TRUE(stage->RunPod(pod).admitted);
  EXPECT_TRUE(stage->EndPod("p"));
  EXPECT_EQ(Last<PodEnded>().pod, "p");
  EXPECT_EQ(stage->EndPod("p").error().reason, Reason::kNotFound);
}

TEST_F(StageTest, NothingRunsWhileKubeletIsDown) {
  const std::unique_ptr<Stage> stage = Build();
  ASSERT_TRUE(stage->StartKubelet());
  stage->KillKubelet();
  EXPECT_EQ(stage->RunPod(PodOf("p", 1)).message, "kubelet is down");
  EXPECT_EQ(stage->EndPod("p").error(), (Error{Reason::kUnavailable, "kubelet is down"}));
  EXPECT_TRUE(stage->StartKubelet());
}

TEST_F(StageTest, TheLimitingLibraryIsPutWhereTheConfigurationSays) {
  const std::unique_ptr<Stage> stage = Build();
  FractionRules division;
  division.library = "/opt/vgpu/libvgpu.so";
  EXPECT_TRUE(
      stage->WriteConfig({.text = "", .envs = {}, .vgpus = {{"g", {division, "/cdi"}}}}, false));
  EXPECT_TRUE(os::Exists(stage->node_directory() + "/opt/vgpu/libvgpu.so"));
}

TEST_F(StageTest, AgentThatEndsByItselfIsNoticed) {
  const std::unique_ptr<Stage> stage = Build("/bin/false");
  ASSERT_TRUE(stage->StartAgent());
  const Steady end = SystemClock().Now() + Duration(10'000);
  while (stage->CheckAgents() && SystemClock().Now() < end) {
  }
  EXPECT_EQ(stage->agents(), 0u);
  EXPECT_FALSE(Last<AgentMoved>().wanted);
  EXPECT_EQ(Last<AgentMoved>().how, "ended by itself with exit code 1");
}

TEST_F(StageTest, FaultWithoutAnAgentGoesToTheDevices) {
  const std::unique_ptr<Stage> stage = Build();
  EXPECT_TRUE(stage->MakeFault({.verb = "fail", .resource = "dummy.com/npu", .device = "3"}));
  EXPECT_TRUE(os::Exists(stage->directory() + "/state/dummy/dummy.com_npu.json"));
}

TEST_F(StageTest, FaultOfAPodThatHoldsNothingIsNotFound) {
  const std::unique_ptr<Stage> stage = Build();
  ASSERT_TRUE(stage->StartKubelet());
  EXPECT_EQ(stage->MakeFault({.verb = "fail", .resource = "dummy.com/npu", .pod = "p"}).error(),
            (Error{Reason::kNotFound, "pod p holds no dummy.com/npu"}));
}

}  // namespace
}  // namespace tessera::demo
