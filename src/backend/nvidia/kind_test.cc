// SPDX-License-Identifier: Apache-2.0
#include "backend/kind.h"

#include <gtest/gtest.h>

#include "backend/labeller.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "backend/sampler.h"
#include "config/told_test.h"
#include "kinds/kinds.h"
#include "nvml/nvidia_node.h"
#include "os/loop.h"

namespace tessera::nvidia {
namespace {

using namespace config;  // the words of its keys

TEST(NvidiaKind, NothingNeedsToBeSaid) {
  const Config config = Good("resources: [{name: nvidia.com/gpu, nvidia: {}}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<NvidiaConfig>(), NvidiaConfig());
  EXPECT_EQ(config.resources[0].rendering.env, "NVIDIA_VISIBLE_DEVICES");
}

TEST(NvidiaKind, GpusAreSelected) {
  const Config config = Good(
      "resources:\n"
      "- name: nvidia.com/a100\n"
      "  nvidia:\n"
      "    driverRoot: /run/nvidia/driver\n"
      "    devRoot: /run/nvidia\n"
      "    select: [{index: 0}, {uuid: GPU-1}, {model: \"*A100*\", index: 3}, {numa: 1}]\n");
  EXPECT_EQ(*config.resources[0].kind.As<NvidiaConfig>(),
            (NvidiaConfig{.driver_root = "/run/nvidia/driver",
                          .dev_root = "/run/nvidia",
                          .select = {{.index = "0"},
                                     {.uuid = "GPU-1"},
                                     {.index = "3", .model = "*A100*"},
                                     {.numa = "1"}}}));
}

TEST(NvidiaKind, AResourceToWhichOneBeforeItLeavesNoGpuIsWarnedOf) {
  const auto warned = [](const std::string& first, const std::string& second) {
    const LoadResult result = LoadLines("resources:\n- {name: a.com/a, nvidia: {" + first +
                                        "}}\n- {name: a.com/b, nvidia: {" + second + "}}\n");
    EXPECT_EQ(Text(result.errors), "");
    const std::string text = Text(result.warnings);
    return text.substr(0, text.find('\n'));
  };
  const std::string nothing =
      "t.yaml:4:27: resources[1].nvidia gets no GPU: resources[0] ('a.com/a') has all of them, "
      "because it has no 'select' and comes first; ";
  EXPECT_EQ(warned("", "select: [{model: \"*T4*\"}]"),
            nothing + "put this one before it, or give that a 'select' [config-bad-value]");
  const std::string select = nothing + "give that a 'select' [config-bad-value]";
  for (const char* mode : {"left-out", "devices", "whole"}) {
    const std::string all = std::string("inMigMode: ") + mode;
    EXPECT_EQ(warned(all, ""), select) << mode;
    EXPECT_EQ(warned("inMigMode: whole", all), select) << mode;
    EXPECT_EQ(warned(all, "mig: 1g.10gb"), "") << mode;
    EXPECT_EQ(warned(all + ", select: [{index: 0}]", ""), "") << mode;
  }
  EXPECT_EQ(warned("inMigMode: devices", "inMigMode: devices"), select);
  EXPECT_EQ(warned("inMigMode: devices", "inMigMode: whole"), "");
  EXPECT_EQ(warned("", "inMigMode: devices"), "");
  EXPECT_EQ(warned("", "inMigMode: whole"), "");
}

TEST(NvidiaKind, ASiteSaysWhatXidsMeanAndForHowLong) {
  const Config config = Good(
      "resources:\n"
      "- name: nvidia.com/gpu\n"
      "  nvidia:\n"
      "    xids: [{xid: 94, class: application}, {xid: 13, class: reset}]\n"
      "    probation: {recover: 10m, reset: 1m}\n");
  EXPECT_EQ(*config.resources[0].kind.As<NvidiaConfig>(),
            (NvidiaConfig{.xids = {{.xid = 94, .xid_class = XidClass::kApplication},
                                   {.xid = 13, .xid_class = XidClass::kReset}},
                          .probation = {.recover = Duration(600'000), .reset = Duration(60'000)}}));
}

TEST(NvidiaKind, WhatContainersGetBesideTheirGpusIsCompleted) {
  const Config config = Good(
      "resources:\n"
      "- name: nvidia.com/gpu\n"
      "  cdi: {kind: my.org/gpu, write: false}\n"
      "  nvidia:\n"
      "    idStrategy: index\n"
      "    features: [mofed, gdrcopy]\n"
      "    imex: optional\n"
      "    failOnInitError: true\n"
      "    otherXids: ignore\n");
  const Rendering& rendering = config.resources[0].rendering;
  EXPECT_EQ(rendering.extras, (std::vector<ExtraDevice>{{"NVIDIA_GDRCOPY", "my.org/gdrcopy=all"},
                                                        {"NVIDIA_MOFED", "my.org/mofed=all"}}));
  EXPECT_EQ(rendering.channels,
            (std::vector<Channel>{{.node = "/dev/nvidia-caps-imex-channels/channel0",
                                   .name = "0",
                                   .env = "NVIDIA_IMEX_CHANNELS",
                                   .mount = "imex",
                                   .cdi_device = "my.org/imex-channel=0"}}));
  EXPECT_EQ(*config.resources[0].kind.As<NvidiaConfig>(),
            (NvidiaConfig{.id_strategy = IdStrategy::kIndex,
                          .features = {Feature::kMofed, Feature::kGdrcopy},
                          .imex = Imex::kOptional,
                          .fail_on_init_error = true,
                          .other_xids = OtherXids::kIgnore}));
}

TEST(NvidiaKind, SeveralResourcesMayBeInACdiDocumentThatOthersWrite) {
  Good(
      "resources:\n"
      "- {name: nvidia.com/gpu, cdi: {kind: my.org/gpu, write: false}, nvidia: {}}\n"
      "- {name: nvidia.com/mig-1g.10gb, cdi: {kind: my.org/gpu, write: false}, nvidia: {mig: "
      "1g.10gb}}\n");
}

TEST(NvidiaKind, SeveralResourcesMayBeInACdiDocumentOfOurs) {
  const Config config = Good(
      "resources:\n"
      "- {name: nvidia.com/gpu, strategies: [cdi-cri], cdi: {kind: my.org/gpu},\n"
      "   nvidia: {cdiHookPath: /h, cdiLeaveOut: [update-ldcache]}}\n"
      "- {name: \"nvidia.com/mig-{profile}\", strategies: [cdi-cri], cdi: {kind: my.org/gpu},\n"
      "   nvidia: {mig: \"*\", cdiHookPath: /h, cdiLeaveOut: [update-ldcache]}}\n");
  EXPECT_EQ(*config.resources[0].kind.As<NvidiaConfig>(),
            (NvidiaConfig{.cdi_vendor = "my.org",
                          .cdi_hook_path = "/h",
                          .cdi_leave_out = {CdiPiece::kUpdateLdcache}}));
  EXPECT_TRUE(config.resources[1].rendering.cdi_visible_names);
}

TEST(NvidiaKind, SeveralResourcesHaveTheVariableThatTheRuntimeReads) {
  const Config config = Good(
      "resources:\n"
      "- {name: nvidia.com/gpu, nvidia: {}}\n"
      "- {name: nvidia.com/mig-1g.10gb, nvidia: {mig: 1g.10gb}}\n");
  EXPECT_EQ(config.resources[1].rendering.env, "NVIDIA_VISIBLE_DEVICES");
}

TEST(NvidiaKind, EveryResourceKnowsWhatEarlierOnesTake) {
  const Config config = Good(
      "resources:\n"
      "- {name: nvidia.com/gpu, nvidia: {select: [{index: 0}], inMigMode: whole}}\n"
      "- {name: dummy.com/npu, dummy: {}}\n"
      "- {name: nvidia.com/mig-1g.10gb, nvidia: {mig: 1g.10gb}}\n"
      "- {name: nvidia.com/all, nvidia: {}}\n");
  using Claim = NvidiaConfig::Claim;
  const Claim whole{.select = {{.index = "0"}}, .in_mig_mode = NvidiaConfig::InMigMode::kWhole};
  const Claim profile{.mig = "1g.10gb"};
  const auto earlier = [&](size_t i) {
    return config.resources[i].kind.As<NvidiaConfig>()->earlier;
  };
  EXPECT_EQ(earlier(0), std::vector<Claim>());
  EXPECT_EQ(earlier(2), std::vector<Claim>{whole});
  EXPECT_EQ(earlier(3), (std::vector<Claim>{whole, profile}));
}

TEST(NvidiaKind, AFamilyHasTheProfilesThatItsPatternFits) {
  const Config config = Good(
      "resources:\n"
      "- {name: \"nvidia.com/mig-{profile}\", nvidia: {mig: 1g.10gb+me*}}\n"
      "- {name: \"nvidia.com/mig-{profile}\", nvidia: {mig: \"*\"}}\n");
  const Resource& narrow = config.resources[0];
  EXPECT_EQ(narrow.kind.As<NvidiaConfig>()->family, "nvidia.com/mig-{profile}");
  const FamilyFinder& families = *KindOf(narrow)->families;
  EXPECT_TRUE(families.MayHave(narrow, "1g.10gb.me"));
  EXPECT_FALSE(families.MayHave(narrow, "1g.10gb"));
  EXPECT_TRUE(families.MayHave(config.resources[1], "1g.10gb"));
}

class NvidiaRequirement : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // Why the agent does not start on such a node without its driver; empty: it does.
  std::string RefusalOn(const std::string& hardware, const std::string& discovery) {
    NvidiaNode node(directory_, hardware);
    node.RemoveDriver();
    return Refusal(discovery);
  }
  std::string Refusal(const std::string& discovery) {
    const Config config =
        Good(fmt::format("resources: [{{name: nvidia.com/gpu, nvidia: {{failOnInitError: true, "
                         "discovery: {}}}}}]\n",
                         discovery));
    os::Loop loop;
    const auto met =
        KindOf(config.resources[0])
            ->requirement->Meet(config.resources[0],
                                {.state_dir = "", .root = os::Root(directory_), .loop = loop});
    return met ? "" : met.error().message.substr(0, met.error().message.find(" from"));
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/kind_test").value();
};

constexpr char kNotLoaded[] = "nvidia.com/gpu: 'failOnInitError' is set, so nothing is served";

TEST_F(NvidiaRequirement, IsNvmlButOnATegraThatHasNone) {
  EXPECT_TRUE(RefusalOn("8xa100", "auto").starts_with(kNotLoaded)) << Refusal("auto");
  EXPECT_EQ(RefusalOn("8xa100", "tegra"), "");
  EXPECT_EQ(RefusalOn("tegra", "auto"), "");
  EXPECT_EQ(RefusalOn("tegra", "tegra"), "");
  EXPECT_TRUE(RefusalOn("tegra", "nvml").starts_with(kNotLoaded));
}

TEST_F(NvidiaRequirement, IsNothingOnANodeWithoutAGpu) {
  NvidiaNode node(directory_, "8xa100");
  node.RemoveDriver();
  ASSERT_TRUE(os::RemoveTree(directory_ + "/sys/bus/pci/devices"));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/sys/bus/pci/devices", 0755));
  EXPECT_EQ(Refusal("auto"), "");
  EXPECT_EQ(Refusal("nvml"), "");
}

TEST_F(NvidiaRequirement, IsNvmlOnWslAsWell) {
  EXPECT_TRUE(RefusalOn("wsl", "auto").starts_with(kNotLoaded));
}

TEST_F(NvidiaRequirement, IsThatNvmlStartsWhereATegraHasIt) {
  NvidiaNode node(directory_, "tegra");
  node.SetFaults("driver: {fail: {nvmlInit_v2: 9}}");
  EXPECT_EQ(Refusal("auto"),
            "nvidia.com/gpu: 'failOnInitError' is set, so nothing is served without NVML: cannot "
            "start NVML");
  node.SetFaults("");
  EXPECT_EQ(Refusal("auto"), "");
}

const BadInput kBadInputs[] = {
    {"AFamilyHasNoProfiles",
     "resources:\n"
     "- name: a.com/{profile}\n"
     "  nvidia: {}\n",
     "t.yaml:4:11: resources[0].nvidia needs 'mig' where the name has '{profile}' "
     "[config-missing]\n"
     "  nvidia: {}\n"
     "          ^\n"},
    {"FamiliesOfOneNameSelectOtherGpus",
     "resources:\n"
     "- {name: \"a.com/{profile}\", nvidia: {mig: 1g.*}}\n"
     "- {name: \"a.com/{profile}\", nvidia: {mig: \"*\", select: [{index: 1}]}}\n",
     "t.yaml:4:10: resources[1].name is that of resources[0] as well, so both must 'select' "
     "and 'exclude' the same GPUs [config-duplicate]\n"
     "- {name: \"a.com/{profile}\", nvidia: {mig: \"*\", select: [{index: 1}]}}\n"
     "         ^\n"},
    {"ANameCouldBeAFamilys",
     "resources:\n"
     "- {name: \"a.com/{profile}\", nvidia: {mig: \"*\"}}\n"
     "- {name: a.com/1g.10gb, nvidia: {mig: 1g.10gb}}\n",
     "t.yaml:4:10: resources[1].name could be one of resources[0] ('a.com/{profile}'): put it "
     "before that [config-duplicate]\n"
     "- {name: a.com/1g.10gb, nvidia: {mig: 1g.10gb}}\n"
     "         ^\n"},
    {"ResourcesOfOneCdiKindHaveTheirDriverInTwoPlaces",
     "resources:\n"
     "- {name: a.com/a, strategies: [cdi-cri], cdi: {kind: a.com/gpu}, nvidia: {mig: 1g.10gb}}\n"
     "- {name: a.com/b, strategies: [cdi-cri], cdi: {kind: a.com/gpu}, nvidia: {driverRoot: /b}}\n",
     "t.yaml:4:74: resources[1].nvidia needs the 'driverRoot', 'hostDriverRoot', 'devRoot', "
     "'cdiHookPath' and 'cdiLeaveOut' of resources[0], whose 'cdi.kind' it shares "
     "[config-bad-value]\n"
     "- {name: a.com/b, strategies: [cdi-cri], cdi: {kind: a.com/gpu}, nvidia: {driverRoot: /b}}\n"
     "                                                                         ^\n"},
    {"AResourceOfMigDevicesSaysWhatGpusInMigModeAre",
     "resources:\n"
     "- {name: a.com/b, nvidia: {mig: 1g.10gb, inMigMode: whole}}\n",
     "t.yaml:3:53: resources[0].nvidia.inMigMode cannot be combined with 'mig', which is for "
     "resources of MIG devices [config-bad-value]\n"
     "- {name: a.com/b, nvidia: {mig: 1g.10gb, inMigMode: whole}}\n"
     "                                                    ^\n"},
    {"ANumaNodeIsNoNumber",
     "resources:\n"
     "- name: a.com/b\n"
     "  nvidia: {select: [{numa: x}]}\n",
     "t.yaml:4:28: resources[0].nvidia.select[0].numa must be a NUMA node, a number, not 'x' "
     "[config-bad-value]\n"
     "  nvidia: {select: [{numa: x}]}\n"
     "                           ^\n"},
    {"ASelectorSaysNothing",
     "resources:\n"
     "- name: a.com/b\n"
     "  nvidia: {select: [{index: 1}, {}]}\n",
     "t.yaml:4:33: resources[0].nvidia.select[1] needs one of 'index', 'uuid', 'model' and 'numa' "
     "[config-missing]\n"
     "  nvidia: {select: [{index: 1}, {}]}\n"
     "                                ^\n"},
    {"AnXidIsNamedTwice",
     "resources:\n"
     "- name: a.com/b\n"
     "  nvidia: {xids: [{xid: 94, class: reset}, {xid: 94, class: reboot}]}\n",
     "t.yaml:4:50: resources[0].nvidia.xids[1].xid is that of xids[0] as well [config-duplicate]\n"
     "  nvidia: {xids: [{xid: 94, class: reset}, {xid: 94, class: reboot}]}\n"
     "                                                 ^\n"},
    {"AnXidHasNoSuchClass",
     "resources:\n"
     "- name: a.com/b\n"
     "  nvidia: {xids: [{xid: 94, class: fatal}]}\n",
     "t.yaml:4:36: resources[0].nvidia.xids[0].class takes 'application', 'recover', 'reset' or "
     "'reboot', not 'fatal' [config-bad-value]\n"
     "  nvidia: {xids: [{xid: 94, class: fatal}]}\n"
     "                                   ^\n"},
    {"AnIndexIsNoNumber",
     "resources:\n"
     "- name: a.com/b\n"
     "  nvidia: {select: [{index: GPU-1}]}\n",
     "t.yaml:4:29: resources[0].nvidia.select[0].index must be a GPU's index, a number, not "
     "'GPU-1' [config-bad-value]\n"
     "  nvidia: {select: [{index: GPU-1}]}\n"
     "                            ^\n"},
};

TEST(NvidiaKind, SamplesComeFromTheDriverOfTheFirstResource) {
  const std::string directory = os::MakeTemporaryDirectory("/tmp/nvidia_kind_test").value();
  const NvidiaNode node(directory + "/driver", "1xt4");
  Config config = Good(
      "resources:\n"
      "- {name: a.com/a, nvidia: {driverRoot: /driver}}\n"
      "- {name: a.com/b, nvidia: {select: [{index: 0}]}}\n");
  config.root_prefix = directory;

  const SamplerMaker& maker = *KindOf(config.resources[0])->sampler;
  const auto sampler = maker.Make(config);

  EXPECT_EQ(sampler->Devices().value().at(0).uuid, node.hardware().gpus[0].uuid);
  EXPECT_EQ(maker.Make(Good("resources: [{name: a.com/a, dummy: {count: 1}}]\n")), nullptr);
  EXPECT_TRUE(os::RemoveTree(directory));
}

TEST(NvidiaKind, LabelsOfANodeWithoutAGpuNeedNoDriver) {
  const std::string directory = os::MakeTemporaryDirectory("/tmp/nvidia_kind_test").value();
  NvidiaNode node(directory, "8xa100");
  node.RemoveDriver();
  Config config = Good("resources: [{name: a.com/a, nvidia: {}}]\n");
  config.root_prefix = directory;
  const auto labeller = KindOf(config.resources[0])->labels->Make(config);
  EXPECT_EQ(labeller->Read().error().reason, Reason::kDriverMissing) << "the bus has GPUs";

  ASSERT_TRUE(os::RemoveTree(directory + "/sys/bus/pci/devices"));
  ASSERT_TRUE(os::MakeDirectories(directory + "/sys/bus/pci/devices", 0755));

  EXPECT_EQ(labeller->Read().value(), labeller->WithoutDevices());
  EXPECT_TRUE(os::RemoveTree(directory));
}

TEST(NvidiaKind, ANodeWithoutAGpuHasNothingToSampleAndNeedsNoDriver) {
  const std::string directory = os::MakeTemporaryDirectory("/tmp/nvidia_kind_test").value();
  NvidiaNode node(directory, "8xa100");
  node.RemoveDriver();
  Config config = Good("resources: [{name: a.com/a, nvidia: {}}]\n");
  config.root_prefix = directory;
  const auto sampler = KindOf(config.resources[0])->sampler->Make(config);
  EXPECT_EQ(sampler->Devices().error().reason, Reason::kDriverMissing) << "the bus has GPUs";

  ASSERT_TRUE(os::RemoveTree(directory + "/sys/bus/pci/devices"));
  ASSERT_TRUE(os::MakeDirectories(directory + "/sys/bus/pci/devices", 0755));

  EXPECT_EQ(sampler->Devices().value(), std::vector<SampledDevice>());
  EXPECT_TRUE(os::RemoveTree(directory));
}

using NvidiaKindErrors = BadInputTest;

TEST_P(NvidiaKindErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, NvidiaKindErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::nvidia
