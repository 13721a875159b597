// SPDX-License-Identifier: Apache-2.0
// `tessera vgpu` next to an agent: the containers and their grants, before any of their programs
// has run.
#include <fmt/core.h>

#include "agent_fixture.h"
#include "limiter/contract.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"
#include "os/process.h"

namespace tessera {
namespace {

class VgpuCommandTest : public AgentTest {
 protected:
  VgpuCommandTest() {
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/usr/local/vgpu", 0755));
    EXPECT_TRUE(os::ReplaceFile(node_.directory() + "/usr/local/vgpu/libvgpu.so",
                                limiter::kLibraryMark, 0644));
  }
  // All containers, as the command prints them.
  json::Array Containers() {
    auto program = os::Process::Start({Binary(), "vgpu", "-o", "json", "--for", "0s", "--config",
                                       dir_ + "/tessera.yaml", "--control", dir_ + "/agent.sock"},
                                      dir_ + "/told");
    EXPECT_TRUE(program);
    EXPECT_EQ(program->Wait(), 0);
    text_ = os::ReadFile(dir_ + "/told").value_or("");
    EXPECT_TRUE(os::RemoveFile(dir_ + "/told"));
    const auto told = json::Parse(text_);
    const json::Object* document = told ? told->if_object() : nullptr;
    const json::Array* all =
        document == nullptr ? nullptr : json::GetArray(*document, "containers");
    return all == nullptr ? json::Array() : *all;
  }

  using NodeUnderTest::Await;

  std::string text_;  // the command's last output

  NvidiaNode node_{dir_ + "/node", "8xa100"};
};

TEST_F(VgpuCommandTest, AContainerIsShownWithItsPodAndItsGrantBeforeItHasRun) {
  StartAll(
      "  - {name: nvidia.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
      "ab.com/gpu, dir: /cdi}, nvidia: {vgpu: {}}}\n",
      "rootPrefix: " + node_.directory() + "\n");
  Expect(kGpu, 80, 80);
  EXPECT_EQ(Containers(), json::Array());
  const kubelet::Admission pod = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  ASSERT_TRUE(Await([&] {
    const json::Array all = Containers();
    return all.size() == 1 && all[0].at("pod").as_string().ends_with("/a");
  })) << text_;
  const json::Object container = Containers()[0].as_object();
  const std::string grant = pod.grants[0].response.annotations.at("tessera.dev/grant");
  const std::string gpu = DeviceOfShare(pod.grants[0].ids[0]);
  EXPECT_EQ(json::GetString(container, "grant"), grant);
  EXPECT_EQ(json::GetString(container, "resource"), kGpu);
  EXPECT_EQ(json::GetString(container, "library"), "tessera");
  EXPECT_EQ(json::GetString(container, "region"),
            fmt::format("/usr/local/vgpu/containers/{0}/{0}.cache", grant));
  EXPECT_EQ(container.at("devices"),
            json::Value(json::Array{json::Object{
                {"uuid", gpu}, {"limitBytes", 8589934592}, {"usedBytes", 0}, {"cores", 10}}}));
  EXPECT_EQ(container.at("processes"), json::Value(json::Array()));
}

}  // namespace
}  // namespace tessera
