// SPDX-License-Identifier: Apache-2.0
// The shipped binary as a replacement of HAMi's device plugin: under its name, with the arguments
// of HAMi's chart, and with its device-config.yaml and config.json.
#include <unistd.h>

#include "agent_fixture.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

class HamiConfigTest : public AgentTest {
 protected:
  HamiConfigTest() {
    EXPECT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
    EXPECT_EQ(symlink(Binary().c_str(), program_.c_str()), 0);
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/config"));
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/usr/lib/tessera"));
    Write(node_.directory() + "/usr/lib/tessera/libvgpu.so",
          "\x7f"
          "ELF, as the image has it");
  }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(path, text, 0644));
  }
  // The entry of this node.
  void WriteNode(const std::string& keys) {
    Write(nodes_, R"({"nodeconfig":[{"name":"worker-1",)" + keys + "}]}");
  }
  void StartPlugin(const std::vector<std::string>& flags = {"--mig-strategy=none",
                                                            "--disable-core-limit=false", "-v=4"}) {
    StartKubelet();
    std::vector<std::string> command = {
        "/usr/bin/env",
        "NODE_NAME=worker-1",
        "DEVICE_LIST_STRATEGY=envvar",
        "KUBELET_SOCKET=" + dir_ + "/kubelet/device-plugins/kubelet.sock",
        "TESSERA_ROOT_PREFIX=" + node_.directory(),
        "TESSERA_STATE_DIR=" + dir_ + "/state",
        "TESSERA_CONTROL_SOCKET=" + dir_ + "/agent.sock",
        "TESSERA_HTTP_ADDRESS=off",
        program_,
        "--config-file=" + file_};
    command.insert(command.end(), flags.begin(), flags.end());
    auto process = os::Process::Start(command, dir_ + "/agent.log");
    ASSERT_TRUE(process);
    agent_ = *std::move(process);
  }
  bool Has(const std::string& id) {
    return std::ranges::any_of(Status(kGpu).devices,
                               [&](const auto& device) { return device.id == id; });
  }

  NvidiaNode node_{dir_ + "/node", "8xa100"};
  const std::string program_ = dir_ + "/nvidia-device-plugin";
  const std::string file_ = dir_ + "/device-config.yaml";
  const std::string nodes_ = node_.directory() + "/config/config.json";
};

TEST_F(HamiConfigTest, WhatTheNodeHasOfItsOwnCountsAndABrokenFileChangesNothing) {
  Write(file_, "nvidia: {deviceSplitCount: 10}\ncambricon: {}\n");
  StartPlugin();
  Expect(kGpu, 80, 80);
  EXPECT_TRUE(Has(node_.hardware().gpus[0].uuid + "-9"));
  EXPECT_TRUE(AwaitLog("HAMi's"));
  EXPECT_TRUE(AwaitLog("the limiting library is installed"));

  WriteNode(R"("devicesplitcount":4,"filterdevices":{"index":[0,1]})");
  Expect(kGpu, 24, 24);
  EXPECT_FALSE(Has(node_.hardware().gpus[0].uuid + "-0"));

  WriteNode(R"("devicesplitcount":"6")");
  EXPECT_TRUE(AwaitLog("nodeconfig[0].devicesplitcount takes a number"));
  Expect(kGpu, 24, 24);

  Write(file_, "nvidia: {deviceSplitCount: ten}\n");
  EXPECT_TRUE(AwaitLog("nvidia.deviceSplitCount takes a whole number from 1 to 2147483647"));
  Expect(kGpu, 24, 24);
}

// An editor may empty the file before it writes it. The empty file made whole GPUs of all shares.
TEST_F(HamiConfigTest, AFileOfAnotherFormatChangesNothingWhileTheAgentRuns) {
  Write(file_, "nvidia: {deviceSplitCount: 10}\n");
  StartPlugin({});  // HAMi's own flags are refused with a file of another format
  Expect(kGpu, 80, 80);
  Write(file_, "");
  EXPECT_TRUE(
      AwaitLog("this is NVIDIA's configuration now, and was HAMi's; start the agent again to "
               "change the format"));
  Expect(kGpu, 80, 80);
  Write(file_, "nvidia: {deviceSplitCount: 9}\n");
  Expect(kGpu, 72, 72);
  EXPECT_EQ(Registrations(kGpu), 1);
}

TEST_F(HamiConfigTest, MigDevicesThatAreMadeOnDemandAreRefused) {
  Write(file_, "nvidia: {}\n");
  WriteNode(R"("operatingmode":"mig")");
  StartPlugin();
  EXPECT_TRUE(AwaitLog("nvidia.operatingMode is 'mig'"));
  EXPECT_EQ(agent_.Wait(), 1);
}

}  // namespace
}  // namespace tessera
