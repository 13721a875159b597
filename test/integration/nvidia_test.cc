// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs of the fake NVML, which the shipped binary loads in the place of the driver's.
#include "http/blocking.h"
#include "nvml/nvidia_node.h"

#include <csignal>

#include "agent_fixture.h"
#include "base/text.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kEnvvar[] = "  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {}}\n";

class NvidiaAgentTest : public AgentTest {
 protected:
  explicit NvidiaAgentTest(const std::string& hardware = "8xa100")
      : node_(dir_ + "/node", hardware) {}

  std::string OnNode() const { return "rootPrefix: " + node_.directory() + "\n"; }
  // Starts all, and waits until the agent would receive an XID.
  void StartAllWatched() {
    StartAll(kEnvvar, OnNode());
    Expect(kGpu, 8, 8);
    ASSERT_TRUE(AwaitLog("events of GPUs are watched gpus=8"));
  }
  // Starts with `silence` as the time without an answer after which a GPU is unhealthy.
  void StartAllWith(const std::string& silence) {
    std::string config = WithQuickChecks(Config(kEnvvar, OnNode()));
    config.replace(config.find("checkTimeout"), 0, "staleAfter: " + silence + ", ");
    WriteConfig(config);
    StartKubelet();
    agent_ = StartAgent();
  }
  std::vector<std::string> HealthyIds() {
    std::vector<std::string> ids;
    for (const auto& device : Status(kGpu).devices) {
      if (device.healthy) ids.push_back(device.id);
    }
    return ids;
  }
  std::vector<std::string> UuidsWithout(size_t left_out) const {
    std::vector<std::string> uuids;
    for (size_t i = 0; i < node_.hardware().gpus.size(); ++i) {
      if (i != left_out) uuids.push_back(node_.hardware().gpus[i].uuid);
    }
    std::sort(uuids.begin(), uuids.end(), NaturalLess());
    return uuids;
  }
  // A grant that consists of the variable only.
  static Grant Named(const std::string& devices) {
    Grant grant;
    grant.envs = {{"NVIDIA_VISIBLE_DEVICES", devices}};
    return grant;
  }
  // The program's standard output with these arguments.
  std::string Told(std::vector<std::string> words) {
    words.insert(words.begin(), Binary());
    words.insert(words.end(), {"--control", dir_ + "/agent.sock"});
    auto program = os::Process::Start(words, dir_ + "/told");
    EXPECT_TRUE(program);
    EXPECT_EQ(program->Wait(), 0);
    const std::string text = os::ReadFile(dir_ + "/told").value_or("");
    EXPECT_TRUE(os::RemoveFile(dir_ + "/told"));
    return text;
  }
  static std::string LineWith(const std::string& text, const std::string& part) {
    for (const std::string& line : Split(text, '\n')) {
      if (line.find(part) != std::string::npos) return line;
    }
    return "";
  }
  std::string ReasonOf(size_t gpu) {
    const json::Object device = DeviceOn(Page("/inventory"), node_.hardware().gpus[gpu].uuid);
    return json::GetString(device, "reason").value_or("");
  }
  // Waits until every GPU has passed that many checks from now on.
  void AwaitGoodChecks(int each) {
    const char* series = R"(tessera_health_checks_total{resource="nvidia.com/gpu",result="good"})";
    const int all = each * static_cast<int>(node_.hardware().gpus.size());
    EXPECT_TRUE(AwaitMetric(series, MetricNow(series) + all));
  }

  std::vector<std::string> InOrderOfNvml(const std::vector<std::string>& ids) const {
    std::vector<std::string> ordered;
    for (const nvml::HardwareGpu& gpu : node_.hardware().gpus) {
      if (std::find(ids.begin(), ids.end(), gpu.uuid) != ids.end()) ordered.push_back(gpu.uuid);
    }
    return ordered;
  }

  NvidiaNode node_;
};

TEST_F(NvidiaAgentTest, EightGpusAreOfferedAndAPodIsToldWhichAreIts) {
  StartAll(kEnvvar, OnNode());
  Expect(kGpu, 8, 8);
  EXPECT_EQ(HealthyIds(), UuidsWithout(8));

  const kubelet::Admission pod = Run("a", {{kGpu, 2}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& grant = pod.grants[0];
  EXPECT_EQ(grant.ids.size(), 2U);
  EXPECT_EQ(grant.response.envs,
            (std::map<std::string, std::string>{
                {"NVIDIA_VISIBLE_DEVICES", Join(InOrderOfNvml(grant.ids), ",")}}));
}

TEST_F(NvidiaAgentTest, ByDefaultMountsSayWhichGpusAreGranted) {
  StartAll("  - {name: nvidia.com/gpu, nvidia: {}}\n", OnNode());
  Expect(kGpu, 8, 8);

  const kubelet::Admission pod = Run("a", {{kGpu, 1}});

  ASSERT_TRUE(pod.admitted) << pod.message;
  const auto& grant = pod.grants[0];
  const std::string directory = "/var/run/nvidia-container-devices";
  EXPECT_EQ(grant.response.envs,
            (std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", directory}}));
  EXPECT_EQ(grant.response.mounts,
            (std::vector<Mount>{{"/dev/null", directory + "/" + grant.ids[0], false}}));
}

constexpr char kPair[] =
    "  - {{name: nvidia.com/gpu, strategies: [{}], nvidia: {{select: [{{index: 0}}, {{index: "
    "1}}]}}}}\n"
    "  - {{name: a.com/rest, strategies: [envvar], nvidia: {{}}}}\n";

TEST_F(NvidiaAgentTest, OtherStrategiesComeWithAReloadAndEveryResourceKeepsItsStream) {
  StartAll(fmt::format(kPair, "envvar"), OnNode());
  Expect(kGpu, 2, 2);
  Expect("a.com/rest", 6, 6);
  const kubelet::Admission before = Run("a", {{kGpu, 1}});
  ASSERT_TRUE(before.admitted) << before.message;
  const std::string& first = before.grants[0].ids[0];
  EXPECT_EQ(before.grants[0].response, Named(first));

  WriteConfig(Config(fmt::format(kPair, "volume-mounts, device-specs"), OnNode()));
  ASSERT_TRUE(AwaitMetric(R"(tessera_config_reloads_total{result="good"})", 1));

  const kubelet::Admission after = Run("b", {{kGpu, 1}});
  ASSERT_TRUE(after.admitted) << after.message;
  const std::string& second = after.grants[0].ids[0];
  EXPECT_NE(second, first);
  const std::string directory = "/var/run/nvidia-container-devices";
  Grant expected = Named(directory);
  expected.mounts = {{"/dev/null", directory + "/" + second, false}};
  const std::string own = second == node_.hardware().gpus[0].uuid ? "/dev/nvidia0" : "/dev/nvidia1";
  for (const std::string& path : {std::string("/dev/nvidiactl"), std::string("/dev/nvidia-uvm"),
                                  std::string("/dev/nvidia-uvm-tools"), own}) {
    expected.devices.push_back({.host_path = path, .container_path = path});
  }
  EXPECT_EQ(after.grants[0].response, expected);
  const kubelet::Admission other = Run("c", {{"a.com/rest", 1}});
  ASSERT_TRUE(other.admitted) << other.message;
  EXPECT_EQ(other.grants[0].response, Named(other.grants[0].ids[0]));
  EXPECT_EQ(Registrations(kGpu), 1);
  EXPECT_EQ(Registrations("a.com/rest"), 1);
}

TEST_F(NvidiaAgentTest, ModelsAndUuidsSelectAResourceWithAPolicyOfItsOwn) {
  node_.SetHardware(
      "driver: \"570.172.08\"\n"
      "defaults: {model: NVIDIA L4, memory: 23034, compute: \"8.9\", numa: 0}\n"
      "gpus:\n"
      "- {pci: \"0000:01:00.0\"}\n"
      "- {pci: \"0000:02:00.0\", model: Tesla T4}\n"
      "- {pci: \"0000:03:00.0\", uuid: GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42}\n"
      "- {pci: \"0000:04:00.0\", model: Tesla T4}\n"
      "- {pci: \"0000:05:00.0\"}\n");
  StartAll(
      "  - {name: a.com/one, strategies: [envvar], nvidia: {select: [{uuid: "
      "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42}]}}\n"
      "  - {name: a.com/t4, strategies: [envvar], policy: replicas, replicas: 3, nvidia: {select: "
      "[{model: \"*T4*\"}]}}\n"
      "  - {name: a.com/l4, strategies: [envvar], nvidia: {select: [{model: NVIDIA L4}]}}\n",
      OnNode());
  Expect("a.com/one", 1, 1);
  Expect("a.com/t4", 6, 6);
  Expect("a.com/l4", 2, 2);
  const auto ids_of = [&](const std::string& resource) {
    std::vector<std::string> ids;
    for (const auto& device : Status(resource).devices) ids.push_back(device.id);
    std::sort(ids.begin(), ids.end(), NaturalLess());
    return ids;
  };
  const auto uuid = [&](size_t gpu) { return node_.hardware().gpus[gpu].uuid; };
  std::vector<std::string> shares;
  for (const size_t gpu : {1, 3}) {
    for (int i = 0; i < 3; ++i) shares.push_back(fmt::format("{}::{}", uuid(gpu), i));
  }

  EXPECT_EQ(ids_of("a.com/one"), std::vector<std::string>{uuid(2)});
  EXPECT_EQ(ids_of("a.com/t4"), shares);
  EXPECT_EQ(ids_of("a.com/l4"), (std::vector<std::string>{uuid(0), uuid(4)}));
}

class NvLinkAgentTest : public NvidiaAgentTest {
 protected:
  NvLinkAgentTest() : NvidiaAgentTest("8xv100") {}
};

TEST_F(NvLinkAgentTest, APairAndAQuadGetGpusThatShareNvLinks) {
  StartAll(kEnvvar, OnNode());
  Expect(kGpu, 8, 8);
  const auto granted = [&](const std::string& pod, int count) {
    const kubelet::Admission admission = Run(pod, {{kGpu, count}});
    EXPECT_TRUE(admission.admitted) << admission.message;
    return admission.grants[0].response.envs.at("NVIDIA_VISIBLE_DEVICES");
  };
  const auto uuids = [&](std::initializer_list<size_t> indices) {
    std::vector<std::string> list;
    for (size_t index : indices) list.push_back(node_.hardware().gpus[index].uuid);
    return Join(list, ",");
  };

  EXPECT_EQ(granted("quad", 4), uuids({0, 1, 2, 3}));
  EXPECT_EQ(granted("pair", 2), uuids({6, 7}));
}

TEST_F(NvidiaAgentTest, AGpuThatIsLostTurnsUnhealthyAndComesBackAfterItsReset) {
  StartAll(kEnvvar, OnNode());
  Expect(kGpu, 8, 8);

  node_.SetFaults("gpus: {3: {lost: true}}");
  Expect(kGpu, 8, 7);
  EXPECT_EQ(HealthyIds(), UuidsWithout(3));

  node_.SetFaults("");
  Expect(kGpu, 8, 8);
}

constexpr char kXid79[] = "events: [{gpu: 3, xid: 79}]\n";

TEST_F(NvidiaAgentTest, AGpuThatFellOffTheBusIsOutUntilItWasReset) {
  ASSERT_NO_FATAL_FAILURE(StartAllWatched());

  node_.SetFaults(kXid79);
  Expect(kGpu, 8, 7);
  EXPECT_EQ(HealthyIds(), UuidsWithout(3));
  EXPECT_EQ(ReasonOf(3), "xid");
  node_.SetFaults(std::string(kXid79) + "gpus: {3: {lost: true}}");
  EXPECT_TRUE(NodeUnderTest::Await([&] { return ReasonOf(3) == "device-lost"; }));
  EXPECT_EQ(HealthyIds(), UuidsWithout(3));

  node_.SetFaults(kXid79);  // a reset GPU answers again
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, AnXidThatNeedsAResetKeepsItsGpuOutHoweverWellItAnswers) {
  ASSERT_NO_FATAL_FAILURE(StartAllWatched());

  node_.SetFaults(kXid79);
  Expect(kGpu, 8, 7);
  AwaitGoodChecks(20);
  EXPECT_EQ(HealthyIds(), UuidsWithout(3));

  for (int signal : {SIGKILL, SIGTERM}) {
    EndAgent(signal, kGpu);
    agent_ = StartAgent();
    Expect(kGpu, 8, 7);
    AwaitGoodChecks(20);
    EXPECT_EQ(HealthyIds(), UuidsWithout(3));
    EXPECT_EQ(ReasonOf(3), "xid");
  }

  node_.SetFaults(std::string(kXid79) + "gpus: {3: {lost: true}}");
  EXPECT_TRUE(NodeUnderTest::Await([&] { return ReasonOf(3) == "device-lost"; }));
  node_.SetFaults(kXid79);
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, AnXidThatNeedsNoResetIsOverAfterItsProbation) {
  StartAll("  - {name: nvidia.com/gpu, strategies: [envvar], nvidia: {probation: {recover: 1s}}}\n",
           OnNode());
  Expect(kGpu, 8, 8);
  ASSERT_TRUE(AwaitLog("events of GPUs are watched gpus=8"));

  node_.SetFaults("events: [{gpu: 3, xid: 31}, {gpu: 3, xid: 94}]");
  Expect(kGpu, 8, 7);
  for (const int xid : {31, 94}) {
    const std::string series =
        fmt::format(R"(tessera_nvidia_xids_total{{resource="nvidia.com/gpu",gpu="{}",xid="{}"}})",
                    node_.hardware().gpus[3].uuid, xid);
    EXPECT_TRUE(AwaitMetric(series, 1)) << series;
  }

  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, AnAgentEndsWhileTheWaitForEventsHangs) {
  ASSERT_NO_FATAL_FAILURE(StartAllWatched());
  node_.SetFaults("driver: {hang: [nvmlEventSetWait_v2]}");

  agent_.Signal(SIGTERM);

  EXPECT_EQ(agent_.Wait(), 0);
}

TEST_F(NvidiaAgentTest, AGpuThatHangsCostsNoOther) {
  StartAllWith("2s");
  Expect(kGpu, 8, 8);

  node_.SetFaults("gpus: {3: {hang: all}}");
  Expect(kGpu, 8, 7);
  EXPECT_TRUE(AwaitLog("reason=check-stale error=\"no check or event has reported on it for "));
  EXPECT_EQ(HealthyIds(), UuidsWithout(3));
  EXPECT_TRUE(Run("a", {{kGpu, 7}}).admitted);

  node_.SetFaults("");
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, AGpuThatHangsIsWellUntilThatIsStale) {
  StartAllWith("1h");
  Expect(kGpu, 8, 8);

  node_.SetFaults("gpus: {3: {hang: all}}");
  EXPECT_TRUE(
      AwaitMetric(R"(tessera_health_checks_total{resource="nvidia.com/gpu",result="bad"})", 5));

  EXPECT_EQ(Status(kGpu).allocatable, 8);
}

TEST_F(NvidiaAgentTest, AGpuWithAnXidIsShownToPeopleWithItsMeaningAndWhatToDo) {
  ASSERT_NO_FATAL_FAILURE(StartAllWatched());
  node_.SetFaults(kXid79);
  Expect(kGpu, 8, 7);
  const std::string id = node_.hardware().gpus[3].uuid;
  const std::string device = "nvidia.com/gpu/" + id;

  const std::string devices = Told({"devices"});
  EXPECT_TRUE(
      LineWith(devices,
               "  unhealthy  1     xid: XID 79: the GPU has fallen off the bus; reset the GPU")
          .starts_with(device.substr(0, device.find('-', device.find("GPU-") + 4))))
      << devices;
  EXPECT_NE(devices.find("\n8 devices: 7 healthy, 1 unhealthy\n"), std::string::npos) << devices;
  EXPECT_EQ(
      Told({"explain", device}),
      device +
          ": not offered\n"
          "  model       NVIDIA A100-SXM4-80GB\n"
          "  why         XID 79: the GPU has fallen off the bus; reset the GPU [xid]: find the "
          "XID in docs/reference/xids.md: its\n"
          "              class says whether to wait, reset or reboot\n"
          "  ids         " +
          id +
          "\n"
          "  numa        1\n");
}

// Every call of NVML hangs, so a request that made one would never be answered.
TEST_F(NvidiaAgentTest, NoRequestAsksNvml) {
  StartAllWith("1h");
  Expect(kGpu, 8, 8);

  node_.SetFaults("driver: {hang: all}");

  const auto pod = Run("a", {{kGpu, 4}});
  EXPECT_TRUE(pod.admitted) << pod.message;
  EXPECT_TRUE(Run("b", {{kGpu, 4}}).admitted);
}

TEST_F(NvidiaAgentTest, AnAgentEndsWhileAGpuHangs) {
  StartAllWith("2s");
  Expect(kGpu, 8, 8);
  node_.SetFaults("gpus: {3: {hang: all}}");
  Expect(kGpu, 8, 7);

  agent_.Signal(SIGTERM);

  EXPECT_EQ(agent_.Wait(), 0);
}

TEST_F(NvidiaAgentTest, ADriverThatIsLostAndComesBackTakesItsGpusAlong) {
  StartAll(kEnvvar, OnNode());
  Expect(kGpu, 8, 8);

  node_.SetFaults("driver: {fail: {all: 9}}");
  Expect(kGpu, 8, 0);

  node_.SetFaults("");
  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, AnAgentWithoutADriverGoesOnAndServesOnceThereIsOne) {
  node_.RemoveDriver();
  StartAll(kEnvvar, OnNode());
  Expect(kGpu, 0, 0);
  EXPECT_TRUE(AwaitLog("reason=driver-missing")) << Log();

  node_.InstallDriver();

  Expect(kGpu, 8, 8);
}

TEST_F(NvidiaAgentTest, WithoutADriverItIsNotReadyAndSaysWhyOnce) {
  node_.RemoveDriver();
  StartAll(kEnvvar, OnNode());
  const auto ready = [this] {
    return http::ExchangeUnix(dir_ + "/agent.sock", {"GET", "/readyz", {}, ""}, kLimit);
  };

  EXPECT_TRUE(AwaitMetric(R"(tessera_scans_total{resource="nvidia.com/gpu",result="failed"})", 3));
  const auto answer = ready();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_TRUE(answer->body.starts_with("nvidia.com/gpu: cannot load NVML: ")) << answer->body;
  const json::Object resource = Page("/inventory").at("resources").at(0).as_object();
  EXPECT_EQ(json::GetString(resource, "error").value_or("") + "\n", answer->body);
  const std::string told = "scan failed; the last device list stays";
  EXPECT_EQ(Log().find(told), Log().rfind(told)) << Log();

  node_.InstallDriver();
  Expect(kGpu, 8, 8);
  EXPECT_EQ(Get("/readyz"), "ok\n");
  EXPECT_FALSE(Page("/inventory").at("resources").at(0).as_object().contains("error"));
}

TEST_F(NvidiaAgentTest, EveryReplicaOfAGpuIsOutWithIt) {
  StartAll(
      "  - {name: nvidia.com/gpu, strategies: [envvar], policy: replicas, replicas: 4, nvidia: "
      "{}}\n",
      OnNode());
  Expect(kGpu, 32, 32);
  ASSERT_TRUE(AwaitLog("events of GPUs are watched gpus=8"));

  node_.SetFaults(kXid79);

  Expect(kGpu, 32, 28);
}

constexpr char kShared[] =
    "  - {name: nvidia.com/gpu, policy: replicas, replicas: 2, nvidia: {}}\n";
constexpr char kDashed[] =
    "  - {name: nvidia.com/gpu, policy: replicas, replicas: 2, replicaSeparator: dash, nvidia: "
    "{}}\n";

TEST_F(NvidiaAgentTest, AnotherSeparatorComesGpuByGpuWhenNobodyHoldsAShare) {
  StartAll(kShared, OnNode());
  Expect(kGpu, 16, 16);
  ASSERT_TRUE(Run("a", {{kGpu, 1}}).admitted);
  const auto ids_with = [&](const std::string& separator) {
    const auto devices = Status(kGpu).devices;
    return std::count_if(devices.begin(), devices.end(),
                         [&](const auto& device) { return device.id.ends_with(separator + "0"); });
  };
  ASSERT_TRUE(AwaitPage("/ledger", [](const json::Object& page) {
    const json::Array* holdings = json::GetArray(page, "holdings");
    return holdings != nullptr && holdings->size() == 1 && holdings->at(0).at("pod") == "a";
  }));

  WriteConfig(Config(kDashed, OnNode()));
  Expect(kGpu, 15, 15);
  EXPECT_EQ(ids_with("::"), 1);
  EXPECT_EQ(ids_with("-"), 7);

  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  Expect(kGpu, 16, 16);
  EXPECT_EQ(ids_with("-"), 8);
  const kubelet::Admission pod = Run("b", {{kGpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].ids[0].find("::"), std::string::npos);

  // After a restart the pod's id still leads to its GPU, with either separator.
  EndAgent(SIGKILL, kGpu);
  WriteConfig(Config(kShared, OnNode()));
  agent_ = StartAgent();
  Expect(kGpu, 15, 15);
  EXPECT_EQ(ids_with("-"), 1);
}

}  // namespace
}  // namespace tessera
