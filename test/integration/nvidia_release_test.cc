// SPDX-License-Identifier: Apache-2.0
// `tessera release` with the fake NVML: the shipped binary closes the library and opens another
// one.
#include <csignal>

#include "agent_fixture.h"
#include "base/text.h"
#include "http/blocking.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kResources[] = "  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {}}\n";

class NvidiaReleaseTest : public AgentTest {
 protected:
  void SetUp() override {
    WriteConfig(WithQuickChecks(Config(kResources, "rootPrefix: " + node_.directory() + "\n")));
    StartKubelet();
    agent_ = StartAgent();
    Expect(kGpu, 8, 8);
  }
  // The answer to an order, which must be accepted.
  json::Object Released(const json::Object& order) {
    const auto answer = Order("/release", order);
    EXPECT_TRUE(answer && answer->status == 200) << (answer ? answer->body : "none");
    return Page("/release");
  }
  static json::Array HeldBy(const json::Object& page) {
    const json::Array* held = json::GetArray(page, "heldBy");
    return held == nullptr ? json::Array{"no answer"} : *held;
  }
  // Closing usually lasts until the wait for events ends, 5 s. On a machine with a busy disk it
  // took 40 s.
  void AwaitClosed() {
    const auto closed = [](const auto& page) { return HeldBy(page).empty(); };
    EXPECT_TRUE(AwaitPage("/release", closed) || AwaitPage("/release", closed))
        << json::Write(json::Value(Page("/release")));
  }
  // The inode of the driver's library that the agent has mapped; empty: none.
  std::string MappedLibrary() {
    const auto maps = os::ReadFile(fmt::format("/proc/{}/maps", agent_.pid()));
    for (const std::string& line : Split(maps.value_or(""), '\n')) {
      if (line.find("libnvidia-ml.so.1") == std::string::npos) continue;
      const std::string head = line.substr(0, line.find('/'));
      const auto end = head.find_last_not_of(' ');
      return head.substr(head.rfind(' ', end) + 1, end - head.rfind(' ', end));
    }
    return "";
  }
  std::string InstalledLibrary() const {
    return fmt::format("{}",
                       os::Inspect(node_.directory() + "/usr/lib64/libnvidia-ml.so.1")->inode);
  }
  std::string ReasonOf(size_t gpu) {
    const json::Object device = DeviceOn(Page("/inventory"), node_.hardware().gpus[gpu].uuid);
    return json::GetString(device, "reason").value_or("");
  }

  NvidiaNode node_{dir_ + "/node", "8xa100"};
};

TEST_F(NvidiaReleaseTest, ADriverIsReplacedWhileItIsReleasedAndTheNewOneIsUsed) {
  EXPECT_EQ(MappedLibrary(), InstalledLibrary());

  Released({{"for", "10m"}});
  Expect(kGpu, 8, 0);
  AwaitClosed();
  EXPECT_EQ(MappedLibrary(), "");
  EXPECT_EQ(ReasonOf(3), "released");
  const auto pod = Run("a", {{kGpu, 1}});
  EXPECT_FALSE(pod.admitted);
  const auto ready = http::ExchangeUnix(dir_ + "/agent.sock", {"GET", "/readyz", {}, ""}, kLimit);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, 503);
  EXPECT_TRUE(ready->body.starts_with("nvidia.com/gpu: closed by 'tessera release' until "))
      << ready->body;
  EXPECT_EQ(MetricNow("tessera_released"), 1);

  node_.InstallDriver();
  std::string yaml = os::ReadFile(node_.directory() + "/usr/lib64/fake-nvml.yaml").value();
  const size_t driver = yaml.find("driver:");
  node_.SetHardware(yaml.replace(driver, yaml.find('\n', driver) - driver, "driver: \"999.1\""));
  Released({{"end", true}});

  Expect(kGpu, 8, 8);
  EXPECT_TRUE(AwaitLog("driver=999.1")) << Log();
  EXPECT_EQ(MappedLibrary(), InstalledLibrary());
  EXPECT_EQ(Get("/readyz"), "ok\n");
  EXPECT_TRUE(Run("b", {{kGpu, 8}}).admitted);
}

TEST_F(NvidiaReleaseTest, AReleaseEndsByItself) {
  Released({{"for", "300ms"}});

  EXPECT_TRUE(AwaitLog("vendors' libraries are opened again resources=nvidia.com/gpu"));
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaReleaseTest, AHangingGpuIsNamedAndTheLibraryIsClosedOnceItAnswers) {
  node_.SetFaults("gpus: {3: {hang: all}}");
  EXPECT_TRUE(
      AwaitMetric(R"(tessera_health_checks_total{resource="nvidia.com/gpu",result="bad"})", 1));

  Released({{"for", "10m"}});
  EXPECT_TRUE(AwaitPage("/release", [](const auto& page) {
    return HeldBy(page) == json::Array{"a call about GPU 3 has not returned"};
  }));
  EXPECT_NE(MappedLibrary(), "");

  node_.SetFaults("");
  AwaitClosed();
  EXPECT_EQ(MappedLibrary(), "");
  Released({{"end", true}});
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaReleaseTest, AnAgentThatIsRestartedMeanwhileOpensNothingEither) {
  Released({{"for", "10m"}});
  Expect(kGpu, 8, 0);
  AwaitClosed();

  EndAgent(SIGKILL, kGpu);
  agent_ = StartAgent();
  Expect(kGpu, 8, 0);
  EXPECT_EQ(MappedLibrary(), "");
  EXPECT_EQ(ReasonOf(3), "released");

  Released({{"end", true}});
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaReleaseTest, AnXidIsNotHealedByAReleaseButByAPersonsWord) {
  ASSERT_TRUE(AwaitLog("events of GPUs are watched gpus=8"));
  node_.SetFaults("events: [{gpu: 3, xid: 119}]");
  Expect(kGpu, 8, 7);

  Released({{"for", "10m"}});
  Expect(kGpu, 8, 0);
  AwaitClosed();
  EXPECT_EQ(ReasonOf(3), "xid");
  Released({{"end", true}});
  Expect(kGpu, 8, 7);
  EXPECT_EQ(ReasonOf(3), "xid");

  const auto told = Order("/was-reset", {{"device", node_.hardware().gpus[3].uuid}});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->status, 200) << told->body;
  Expect(kGpu, 8, 8);
  const auto again = Order("/was-reset", {{"device", node_.hardware().gpus[3].uuid}});
  EXPECT_EQ(again.error().reason, Reason::kInvalid);
}

TEST_F(NvidiaReleaseTest, ATimeThatIsTooLongIsRefused) {
  const auto refused = Order("/release", {{"for", "2h"}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Reason::kInvalid, "the time must be above 0 and at most 1h"}));
  EXPECT_EQ(MetricNow("tessera_released"), 0);
}

}  // namespace
}  // namespace tessera
