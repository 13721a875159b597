// SPDX-License-Identifier: Apache-2.0
// The built program plays scenarios as fast as it can.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "json/json.h"
#include "os/files.h"
#include "os/process.h"
#include "sim/demo/hardware.h"

namespace tessera::demo {
namespace {

class DemoTest : public ::testing::Test {
 protected:
  DemoTest() : directory_(*os::MakeTemporaryDirectory("/tmp/demo-")) {
    // Where the demo makes its own directory.
    setenv("TMPDIR", directory_.c_str(), 1);
  }
  ~DemoTest() override {
    unsetenv("TMPDIR");
    EXPECT_TRUE(os::RemoveTree(directory_));
  }

  os::Process Start(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {TESSERA_SIM, "demo"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return *os::Process::Start(argv, output_path());
  }
  std::string output_path() const { return directory_ + "/output"; }
  std::string Output() const { return os::ReadFile(output_path()).value_or(""); }
  // The files that are left besides the output.
  std::vector<std::string> Left() const {
    std::vector<std::string> names = *os::ListDirectory(directory_);
    std::erase(names, "output");
    return names;
  }
  json::Object Summary() const {
    const std::string output = Output();
    const std::vector<std::string> lines = Split(Trim(output), '\n');
    const Result<json::Value> last = json::Parse(lines.back());
    return last && last->is_object() ? last->get_object() : json::Object();
  }
  void Plays(std::vector<std::string> what) {
    what.insert(what.end(), {"--json", "--speed", "20"});
    EXPECT_EQ(Start(what).Wait(), 0) << Output();
    const json::Object summary = Summary();
    EXPECT_EQ(json::GetString(summary, "event"), "summary");
    EXPECT_EQ(json::GetBool(summary, "good"), true);
    EXPECT_EQ(json::GetInt(summary, "wrong_grants"), 0);
    EXPECT_GT(json::GetInt(summary, "pods_admitted").value_or(0), 0);
    EXPECT_EQ(Left(), std::vector<std::string>());
  }

  // The options for hardware of demo/hardware.
  static std::vector<std::string> On(const std::string& hardware) {
    return {"--hardware", "demo/hardware/" + hardware + ".yaml", "--nvml", TESSERA_FAKE_NVML};
  }
  // By resource "7 of 8" whenever its list changed.
  using Lists = std::map<std::string, std::set<std::string>>;
  Lists AllLists() const {
    Lists lists;
    for (const std::string& line : Split(Output(), '\n')) {
      const Result<json::Value> event = json::Parse(line);
      if (!event || !event->is_object()) continue;
      const json::Object& object = event->get_object();
      if (json::GetString(object, "event") != "list") continue;
      const std::string list = fmt::format("{} of {}", *json::GetInt(object, "allocatable"),
                                           *json::GetInt(object, "capacity"));
      // A registration, at which kubelet has no list yet.
      if (list != "0 of 0") lists[*json::GetString(object, "resource")].insert(list);
    }
    return lists;
  }
  static Lists CapacitiesIn(Lists lists) {
    for (auto& [resource, of] : lists) {
      std::set<std::string> capacities;
      for (const std::string& list : of) capacities.insert(list.substr(list.rfind(' ') + 1));
      of = std::move(capacities);
    }
    return lists;
  }
  // The ids that a pod gets which asks for so many.
  std::string GrantOn(const std::string& hardware, const std::string& resources,
                      const std::string& resource, int count) {
    const std::string path = directory_ + "/grant.yaml";
    EXPECT_TRUE(os::WriteFileAtomically(
        path, fmt::format("config: |\n"
                          "  version: tessera/v1\n"
                          "  resources: {}\n"
                          "steps:\n"
                          "  - expect: {{resource: {}, allocatable: 8, within: 20s}}\n"
                          "  - run: {{pod: train, limits: {{{}: {}}}}}\n",
                          resources, resource, resource, count)));
    std::vector<std::string> arguments = On(hardware);
    arguments.insert(arguments.end(), {"--scenario", path, "--json"});
    EXPECT_EQ(Start(arguments).Wait(), 0) << Output();
    EXPECT_TRUE(os::RemoveFile(path));
    const std::string output = Output();
    constexpr std::string_view kIds = "\"ids\":";
    const size_t begin = output.find(kIds);
    if (begin == std::string::npos) return output;
    const size_t end = output.find(']', begin);
    return output.substr(begin + kIds.size(), end + 1 - begin - kIds.size());
  }
  // The message for wrong arguments.
  std::string Refusal(const std::vector<std::string>& arguments) {
    EXPECT_EQ(Start(arguments).Wait(), 2);
    EXPECT_EQ(Left(), std::vector<std::string>());
    return Output();
  }

  const std::string directory_;
};

TEST_F(DemoTest, DefaultScenarioGoesWell) {
  Plays({"--scenario", "default"});
}
TEST_F(DemoTest, RestartStormGoesWell) {
  Plays({"--scenario", "restart-storm"});
}
TEST_F(DemoTest, FlappingDevicesGoesWell) {
  Plays({"--scenario", "flapping-devices"});
}
TEST_F(DemoTest, RollingUpdateGoesWell) {
  Plays({"--scenario", "rolling-update"});
}

TEST_F(DemoTest, VgpuScenarioGoesWell) {
  std::vector<std::string> arguments = On("8xa100");
  arguments.insert(arguments.end(), {"--scenario", "vgpu"});
  Plays(arguments);
  EXPECT_EQ(AllLists().at("nvidia.com/gpu"),
            (std::set<std::string>{"0 of 80", "70 of 80", "80 of 80"}));
}

TEST_F(DemoTest, HardwareThatCannotBeReadIsNamed) {
  EXPECT_EQ(Refusal({"--hardware", "8xa1000.yaml", "--nvml", TESSERA_FAKE_NVML}),
            "tessera-sim demo: --hardware: cannot open 8xa1000.yaml: No such file or directory; "
            "demo/hardware has files to use\n");
}

TEST_F(DemoTest, HardwareWithoutTheFakeNvmlSaysWhereItComesFrom) {
  EXPECT_EQ(Refusal({"--hardware", "demo/hardware/8xa100.yaml"}),
            "tessera-sim demo: there is no " + Hardware::LibrariesBeside(TESSERA_SIM).nvml +
                ", the fake NVML that --hardware needs: build it with tools/build release "
                "fake_nvml and name it with --nvml, or run tools/demo, which does both\n");
}

TEST_F(DemoTest, AScenarioOfGpusAsksForTheHardware) {
  EXPECT_EQ(
      Refusal({"--scenario", "nvidia"}),
      "tessera-sim demo: nvidia plays NVIDIA GPUs: say which with --hardware, such as --hardware "
      "demo/hardware/8xa100.yaml\n");
}

TEST_F(DemoTest, TheScenarioOfVirtualGpusAsksForTheHardwareAsWell) {
  EXPECT_EQ(
      Refusal({"--scenario", "vgpu"}),
      "tessera-sim demo: vgpu plays NVIDIA GPUs: say which with --hardware, such as --hardware "
      "demo/hardware/8xa100.yaml\n");
}

TEST_F(DemoTest, AScenarioOfAmdGpusAsksForTheirHardware) {
  const std::string message =
      "tessera-sim demo: amd plays AMD GPUs: say which with --hardware, such as --hardware "
      "demo/hardware/8xmi300x.yaml\n";
  std::vector<std::string> arguments = On("8xa100");
  arguments.insert(arguments.end(), {"--scenario", "amd"});
  EXPECT_EQ(Refusal(arguments), message);
}

TEST_F(DemoTest, AScenarioWithoutAmdGpusTakesNoneOfTheirHardware) {
  EXPECT_EQ(
      Refusal({"--scenario", "default", "--hardware", "demo/hardware/8xmi300x.yaml"}),
      "tessera-sim demo: default has no resource of AMD GPUs for the hardware: leave --hardware "
      "out, or take --scenario amd\n");
}

constexpr char kNamesBoth[] =
    "tessera-sim demo: gpus-and-nics plays RDMA network cards: say which with --hardware, such "
    "as --hardware demo/hardware/8gpus8nics.yaml\n";

TEST_F(DemoTest, AScenarioOfGpusWithCardsNamesHardwareWithBoth) {
  EXPECT_EQ(Refusal({"--scenario", "gpus-and-nics"}), kNamesBoth);
}

TEST_F(DemoTest, HardwareWithOneOfBothDoesNotDo) {
  EXPECT_EQ(Refusal({"--scenario", "gpus-and-nics", "--hardware", "demo/hardware/8xmi300x.yaml"}),
            kNamesBoth);
}

TEST_F(DemoTest, AScenarioWithoutNpusTakesNoneOfTheirHardware) {
  EXPECT_EQ(Refusal({"--scenario", "default", "--hardware", "demo/hardware/8xascend910b.yaml"}),
            "tessera-sim demo: default has no resource of Ascend NPUs for the hardware: leave "
            "--hardware out, or take --scenario ascend\n");
}

TEST_F(DemoTest, APodGetsAmdGpusOfOneSocket) {
  EXPECT_EQ(GrantOn("8xmi300x", "[{name: amd.com/gpu, amd: {}}]", "amd.com/gpu", 4),
            R"(["0000:05:00.0","0000:27:00.0","0000:47:00.0","0000:65:00.0"])");
}

TEST_F(DemoTest, APodGetsNpusOfOneNetworkGroup) {
  const std::string ids =
      GrantOn("8xascend910b", "[{name: huawei.com/npu, ascend: {}}]", "huawei.com/npu", 4);
  constexpr char kCommon[] = "42C711D4-20B03704-4A10C8D4-14CC040A-D210200";
  std::vector<std::string> group;
  for (const int chip : {0, 1, 2, 3}) group.push_back(fmt::format("\"{}{}\"", kCommon, chip));
  EXPECT_EQ(ids, "[" + Join(group, ",") + "]");
}

TEST_F(DemoTest, APodGetsEachGpuWithACardOfItsSwitch) {
  EXPECT_EQ(GrantOn("8gpus8nics",
                    "[{name: amd.com/gpu, amd: {}}, {name: rdma/hca, rdma: {}},"
                    " {name: example.com/both, pair: {gpu: amd.com/gpu, nic: rdma/hca}}]",
                    "example.com/both", 2),
            R"(["0000:13:00.0_0000:15:00.0","0000:14:00.0_0000:16:00.0"])");
  EXPECT_NE(Output().find("pod train runs with example.com/both 0+0,1+1"), std::string::npos)
      << Output();
}

TEST_F(DemoTest, AScenarioThatConfiguresGpusLaterAsksForTheHardwareAsWell) {
  const std::string path = directory_ + "/later.yaml";
  ASSERT_TRUE(os::WriteFileAtomically(path,
                                      "config: |\n"
                                      "  version: tessera/v1\n"
                                      "  resources: [{name: dummy.com/npu, dummy: {count: 2}}]\n"
                                      "steps:\n"
                                      "  - config: |\n"
                                      "      version: tessera/v1\n"
                                      "      resources: [{name: nvidia.com/gpu, nvidia: {}}]\n"));
  EXPECT_EQ(Start({"--scenario", path}).Wait(), 2);
  EXPECT_TRUE(Output().starts_with("tessera-sim demo: " + path + " plays NVIDIA GPUs")) << Output();
  ASSERT_TRUE(os::RemoveFile(path));
}

TEST_F(DemoTest, AScenarioWithoutGpusTakesNoHardware) {
  std::vector<std::string> arguments = On("8xa100");
  arguments.insert(arguments.end(), {"--scenario", "default"});
  EXPECT_EQ(Refusal(arguments),
            "tessera-sim demo: default has no resource of NVIDIA GPUs for the hardware: leave "
            "--hardware out, or take --scenario nvidia\n");
}

TEST_F(DemoTest, WrongScenarioIsNamedWithItsLine) {
  const std::string path = directory_ + "/wrong.yaml";
  ASSERT_TRUE(os::WriteFileAtomically(
      path, "config: |\n  version: tessera/v1\nsteps:\n  - {at: soon, say: a}\n"));
  EXPECT_EQ(Start({"--scenario", path}).Wait(), 2);
  EXPECT_EQ(Output(),
            path +
                ":4:10: steps[0].at takes a time up to 24h such as 2.5s or 250ms, not 'soon' "
                "[config-wrong-type]\n"
                "  - {at: soon, say: a}\n"
                "         ^\n");
  ASSERT_TRUE(os::RemoveFile(path));
}

TEST_F(DemoTest, UnknownScenarioNamesThoseThatShip) {
  EXPECT_EQ(Start({"--scenario", "storm"}).Wait(), 2);
  EXPECT_EQ(Output(),
            "tessera-sim demo: storm: there is no such file, and no scenario of that name ships\n"
            "those that ship are default, amd-partitions, amd, ascend, flapping-devices, "
            "gpus-and-nics, nvidia-mig, nvidia-wsl, nvidia, restart-storm, rolling-update, vgpu\n");
}

TEST_F(DemoTest, MistypedScenarioGetsASuggestion) {
  EXPECT_EQ(Start({"--scenario", "restart-strom"}).Wait(), 2);
  EXPECT_EQ(Output(),
            "tessera-sim demo: restart-strom: there is no such file, and no scenario of that name "
            "ships; did you mean 'restart-storm'?\n"
            "those that ship are default, amd-partitions, amd, ascend, flapping-devices, "
            "gpus-and-nics, nvidia-mig, nvidia-wsl, nvidia, restart-storm, rolling-update, vgpu\n");
}

TEST_F(DemoTest, UnmetExpectationFails) {
  const std::string path = directory_ + "/unmet.yaml";
  ASSERT_TRUE(os::WriteFileAtomically(
      path,
      "config: |\n"
      "  version: tessera/v1\n"
      "  resources: [{name: dummy.com/npu, dummy: {count: 2}}]\n"
      "steps:\n"
      "  - expect: {resource: dummy.com/npu, capacity: 3, within: 300ms}\n"));
  EXPECT_EQ(Start({"--scenario", path, "--json"}).Wait(), 1);
  ASSERT_TRUE(os::RemoveFile(path));
  EXPECT_NE(Output().find(path + ":5: not as expected: dummy.com/npu capacity 3; seen:"),
            std::string::npos)
      << Output();
  EXPECT_EQ(Left(), std::vector<std::string>());
}

TEST_F(DemoTest, InterruptionLeavesNothingBehind) {
  os::Process demo = Start({"--plain"});
  const Steady end = SystemClock().Now() + Duration(20'000);
  while (Output().find("runs with") == std::string::npos && SystemClock().Now() < end) {
    ASSERT_EQ(demo.Poll(), std::nullopt) << Output();
  }
  demo.Signal(SIGINT);
  EXPECT_EQ(demo.Wait(), 130);
  EXPECT_EQ(Left(), std::vector<std::string>());
}

// A file of demo/hardware, and lists that its resources have while the fitting scenario plays.
// Other lists come in between, but with the same capacity.
struct Shipped {
  std::string hardware;
  std::map<std::string, std::set<std::string>> lists;  // by resource
  // A scan may come between two steps of a change, and find another capacity.
  bool has_halves = false;
};
constexpr char kGpuResource[] = "nvidia.com/gpu";
constexpr char kAmdResource[] = "amd.com/gpu";
const Shipped kShipped[] = {
    {"16xv100", {{kGpuResource, {"0 of 16", "15 of 16", "16 of 16"}}}},
    {"1xt4", {{kGpuResource, {"0 of 1", "1 of 1"}}}},
    {"8gpus8nics",
     {{"amd.com/gpu", {"8 of 8", "6 of 8", "5 of 8"}},
      {"rdma/hca", {"8 of 8", "6 of 8", "5 of 8"}},
      {"example.com/gpu-nic", {"8 of 8", "7 of 8"}}}},
    {"8xa100", {{kGpuResource, {"0 of 8", "7 of 8", "8 of 8"}}}},
    {"8xascend910b", {{"huawei.com/npu", {"8 of 8", "7 of 8", "7 of 7"}}}},
    {"8xh100-mig",
     {{kGpuResource, {"6 of 6"}},
      {"nvidia.com/mig-1g.10gb", {"9 of 9", "8 of 9", "7 of 9", "7 of 7"}},
      {"nvidia.com/mig-2g.20gb", {"1 of 1", "2 of 2"}},
      {"nvidia.com/mig-3g.40gb", {"0 of 1", "1 of 1"}}},
     true},
    {"8xmi300x-cpx",
     {{"amd.com/cpx_nps1", {"63 of 63", "55 of 63", "56 of 56"}}, {"amd.com/spx_nps1", {"1 of 1"}}},
     true},
    {"8xmi300x", {{kAmdResource, {"8 of 8", "7 of 8", "14 of 14"}}}, true},
    {"8xv100", {{kGpuResource, {"0 of 8", "7 of 8", "8 of 8"}}}},
    {"tegra", {{kGpuResource, {"0 of 1", "1 of 1"}}}},
    {"wsl", {{kGpuResource, {"0 of 4", "4 of 4"}}}},
};

class ShippedHardwareTest : public DemoTest, public ::testing::WithParamInterface<Shipped> {};

TEST_P(ShippedHardwareTest, PlaysWithTheResourcesAndCountsThatItHas) {
  Plays(On(GetParam().hardware));
  const Lists seen = AllLists();
  if (!GetParam().has_halves) EXPECT_EQ(CapacitiesIn(seen), CapacitiesIn(GetParam().lists));
  for (const auto& [resource, lists] : GetParam().lists) {
    for (const std::string& list : lists) {
      EXPECT_TRUE(seen.contains(resource) && seen.at(resource).contains(list))
          << resource << " " << list;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedHardwareTest, ::testing::ValuesIn(kShipped),
                         [](const auto& shipped) {
                           std::string name = shipped.param.hardware;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ShippedHardware, AllOfItIsPlayed) {
  std::vector<std::string> files;
  for (const Shipped& shipped : kShipped) files.push_back(shipped.hardware + ".yaml");
  std::vector<std::string> there = *os::ListDirectory("demo/hardware");
  std::ranges::sort(there);

  EXPECT_EQ(there, files);
}

}  // namespace
}  // namespace tessera::demo
