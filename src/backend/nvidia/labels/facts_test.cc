// SPDX-License-Identifier: Apache-2.0
// The labels of every node of demo/hardware, and the facts behind them.
#include "backend/nvidia/labels/facts.h"

#include <gtest/gtest.h>

#include <thread>

#include "backend/nvidia/core/nvidia_config.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";

// One label a line, without the common prefix.
std::string AllLines(const Result<Labels>& labels) {
  if (!labels) return labels.error().Text();
  std::string text;
  for (const auto& [key, value] : *labels) {
    EXPECT_TRUE(key.starts_with(kPrefix)) << key;
    text += key.substr(kPrefix.size()) + "=" + value + "\n";
  }
  return text;
}

// The labels of the drivers 570.172.08 and 535.261.03.
const std::string k570 = R"(cuda.driver-version.full=570.172.08
cuda.driver-version.major=570
cuda.driver-version.minor=172
cuda.driver-version.revision=08
cuda.driver.major=570
cuda.driver.minor=172
cuda.driver.rev=08
cuda.runtime-version.full=12.8
cuda.runtime-version.major=12
cuda.runtime-version.minor=8
cuda.runtime.major=12
cuda.runtime.minor=8
)";
const std::string k535 = R"(cuda.driver-version.full=535.261.03
cuda.driver-version.major=535
cuda.driver-version.minor=261
cuda.driver-version.revision=03
cuda.driver.major=535
cuda.driver.minor=261
cuda.driver.rev=03
cuda.runtime-version.full=12.2
cuda.runtime-version.major=12
cuda.runtime-version.minor=2
cuda.runtime.major=12
cuda.runtime.minor=2
)";

class LabelFactsTest : public testing::Test {
 protected:
  LabelFactsTest() {
    config_.root_prefix = directory_;
    config_.labels.timestamp = false;
  }
  ~LabelFactsTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  void Make(const std::string& hardware) {
    node_ = std::make_unique<NvidiaNode>(directory_, hardware);
  }
  // With the settings of migStrategy and sharing.
  config::Resource& AddResource(const std::string& name, const NvidiaConfig& kind) {
    config::Resource& resource = config_.resources.emplace_back();
    resource.name = name;
    resource.kind = config::KindConfig::Of(kind);
    return resource;
  }
  std::string Read() { return AllLines(GpuLabeller(config_).Read()); }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/label_facts_test").value();
  std::unique_ptr<NvidiaNode> node_;
  config::Config config_;
};

TEST_F(LabelFactsTest, WholeGpusThatAreAllAlike) {
  Make("8xa100");
  EXPECT_EQ(Read(), k570 + R"(gpu.compute.major=8
gpu.compute.minor=0
gpu.count=8
gpu.family=ampere
gpu.machine=DGXA100-920-23687-2530-000
gpu.memory=81920
gpu.mode=compute
gpu.product=NVIDIA-A100-SXM4-80GB
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=true
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, OneGpuOfAVirtualMachine) {
  Make("1xt4");
  EXPECT_EQ(Read(), k570 + R"(gpu.compute.major=7
gpu.compute.minor=5
gpu.count=1
gpu.family=turing
gpu.machine=g4dn.xlarge
gpu.memory=15360
gpu.mode=compute
gpu.product=Tesla-T4
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, GpusOfAMesh) {
  Make("8xv100");
  EXPECT_EQ(Read(), k535 + R"(gpu.compute.major=7
gpu.compute.minor=0
gpu.count=8
gpu.family=volta
gpu.machine=DGX-1-with-V100
gpu.memory=16384
gpu.mode=compute
gpu.product=Tesla-V100-SXM2-16GB
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, SixteenGpusBehindSwitches) {
  Make("16xv100");
  EXPECT_EQ(Read(), k535 + R"(gpu.compute.major=7
gpu.compute.minor=0
gpu.count=16
gpu.family=volta
gpu.machine=NVIDIA-DGX-2
gpu.memory=32768
gpu.mode=compute
gpu.product=Tesla-V100-SXM3-32GB
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, ATegra) {
  Make("tegra");
  EXPECT_EQ(Read(), R"(cuda.driver-version.full=540.4.0
cuda.driver-version.major=540
cuda.driver-version.minor=4
cuda.driver-version.revision=0
cuda.driver.major=540
cuda.driver.minor=4
cuda.driver.rev=0
cuda.runtime-version.full=12.6
cuda.runtime-version.major=12
cuda.runtime-version.minor=6
cuda.runtime.major=12
cuda.runtime.minor=6
gpu.compute.major=8
gpu.compute.minor=7
gpu.count=1
gpu.family=ampere
gpu.machine=NVIDIA-Jetson-AGX-Orin-Developer-Kit
gpu.memory=30697
gpu.mode=unknown
gpu.product=Orin-nvgpu
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, Wsl) {
  Make("wsl");
  EXPECT_EQ(Read(), R"(cuda.driver-version.full=572.16
cuda.driver-version.major=572
cuda.driver-version.minor=16
cuda.driver-version.revision=
cuda.driver.major=572
cuda.driver.minor=16
cuda.driver.rev=
cuda.runtime-version.full=12.8
cuda.runtime-version.major=12
cuda.runtime-version.minor=8
cuda.runtime.major=12
cuda.runtime.minor=8
gpu.compute.major=8
gpu.compute.minor=9
gpu.count=1
gpu.family=ada-lovelace
gpu.machine=unknown
gpu.memory=24564
gpu.mode=unknown
gpu.product=NVIDIA-GeForce-RTX-4090
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.present=false
)");
}

// Six whole GPUs and two divided ones, with any strategy.
const std::string kH100 = R"(gpu.compute.major=9
gpu.compute.minor=0
gpu.count=8
gpu.family=hopper
gpu.machine=PowerEdge-XE9680
gpu.memory=81559
gpu.mode=compute
gpu.product=NVIDIA-H100-80GB-HBM3
gpu.replicas=1
gpu.sharing-strategy=none
)";

TEST_F(LabelFactsTest, DividedGpusCountAsWholeOnesWithoutAStrategy) {
  Make("8xh100-mig");
  AddResource("nvidia.com/gpu", {.in_mig_mode = NvidiaConfig::InMigMode::kWhole});
  EXPECT_EQ(Read(), k570 + kH100 + "mig.capable=true\nmps.capable=false\nvgpu.present=false\n");
}

TEST_F(LabelFactsTest, MixedTellsOfEveryProfile) {
  Make("8xh100-mig");
  AddResource("nvidia.com/gpu", {});
  AddResource("nvidia.com/mig-{profile}", {.mig = "*"});
  EXPECT_EQ(Read(), k570 + kH100 + R"(mig-1g.10gb.count=9
mig-1g.10gb.engines.copy=1
mig-1g.10gb.engines.decoder=1
mig-1g.10gb.engines.encoder=0
mig-1g.10gb.engines.jpeg=1
mig-1g.10gb.engines.ofa=0
mig-1g.10gb.memory=9984
mig-1g.10gb.multiprocessors=16
mig-1g.10gb.product=NVIDIA-H100-80GB-HBM3-MIG-1g.10gb
mig-1g.10gb.replicas=1
mig-1g.10gb.sharing-strategy=none
mig-1g.10gb.slices.ci=1
mig-1g.10gb.slices.gi=1
mig-2g.20gb.count=1
mig-2g.20gb.engines.copy=2
mig-2g.20gb.engines.decoder=2
mig-2g.20gb.engines.encoder=0
mig-2g.20gb.engines.jpeg=2
mig-2g.20gb.engines.ofa=0
mig-2g.20gb.memory=20096
mig-2g.20gb.multiprocessors=32
mig-2g.20gb.product=NVIDIA-H100-80GB-HBM3-MIG-2g.20gb
mig-2g.20gb.replicas=1
mig-2g.20gb.sharing-strategy=none
mig-2g.20gb.slices.ci=2
mig-2g.20gb.slices.gi=2
mig-3g.40gb.count=1
mig-3g.40gb.engines.copy=3
mig-3g.40gb.engines.decoder=3
mig-3g.40gb.engines.encoder=0
mig-3g.40gb.engines.jpeg=3
mig-3g.40gb.engines.ofa=0
mig-3g.40gb.memory=40448
mig-3g.40gb.multiprocessors=60
mig-3g.40gb.product=NVIDIA-H100-80GB-HBM3-MIG-3g.40gb
mig-3g.40gb.replicas=1
mig-3g.40gb.sharing-strategy=none
mig-3g.40gb.slices.ci=3
mig-3g.40gb.slices.gi=3
mig.capable=true
mig.strategy=mixed
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, SingleIsInvalidWhereGpusAreNotDividedAlike) {
  Make("8xh100-mig");
  AddResource("nvidia.com/gpu", {.in_mig_mode = NvidiaConfig::InMigMode::kDevices});
  EXPECT_EQ(Read(), k570 + R"(gpu.compute.major=9
gpu.compute.minor=0
gpu.count=0
gpu.family=hopper
gpu.machine=PowerEdge-XE9680
gpu.memory=0
gpu.mode=compute
gpu.product=NVIDIA-H100-80GB-HBM3-MIG-INVALID
gpu.replicas=0
gpu.sharing-strategy=
mig.capable=true
mig.strategy=single
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, SingleTellsOfTheDevicesOfGpusThatAreDividedAlike) {
  Make("8xh100-mig");
  node_->SetGpus(1);
  node_->SetMig(0,
                "[{profile: 3g.40gb, gi: 1, memory: 40448}, "
                "{profile: 3g.40gb, gi: 2, memory: 40448}]");
  config::Resource& resource =
      AddResource("nvidia.com/gpu", {.in_mig_mode = NvidiaConfig::InMigMode::kDevices});
  resource.policy = {Division::kReplicas, 4};
  EXPECT_EQ(Read(), k570 + R"(gpu.compute.major=9
gpu.compute.minor=0
gpu.count=2
gpu.engines.copy=3
gpu.engines.decoder=3
gpu.engines.encoder=0
gpu.engines.jpeg=3
gpu.engines.ofa=0
gpu.family=hopper
gpu.machine=PowerEdge-XE9680
gpu.memory=40448
gpu.mode=compute
gpu.multiprocessors=60
gpu.product=NVIDIA-H100-80GB-HBM3-MIG-3g.40gb-SHARED
gpu.replicas=4
gpu.sharing-strategy=time-slicing
gpu.slices.ci=3
gpu.slices.gi=3
mig.capable=true
mig.strategy=single
mps.capable=false
vgpu.present=false
)");
}

TEST_F(LabelFactsTest, AVirtualGpuTellsOfItsHost) {
  Make("1xt4");
  node_->SetHardware(R"(
driver: "550.90.07"
defaults: {model: GRID T4-16Q, memory: 16384, compute: "7.5", class: "0x030000"}
gpus: [{pci: "0000:02:00.0", vgpu: {version: "550.90.05", branch: r550_00}}]
)");
  ASSERT_TRUE(os::RemoveTree(directory_ + "/sys/bus/pci/devices/0000:00:1e.0"));
  EXPECT_EQ(Read(), R"(cuda.driver-version.full=550.90.07
cuda.driver-version.major=550
cuda.driver-version.minor=90
cuda.driver-version.revision=07
cuda.driver.major=550
cuda.driver.minor=90
cuda.driver.rev=07
gpu.compute.major=7
gpu.compute.minor=5
gpu.count=1
gpu.family=turing
gpu.machine=g4dn.xlarge
gpu.memory=16384
gpu.mode=graphics
gpu.product=GRID-T4-16Q
gpu.replicas=1
gpu.sharing-strategy=none
mig.capable=false
mps.capable=false
vgpu.host-driver-branch=r550_00
vgpu.host-driver-version=550.90.05
vgpu.present=true
)");
}

// Two GPUs of a node with several; those that matter here.
std::string FabricOf(const std::string& first, const std::string& second) {
  return R"(driver: "570.1"
gpus:
- {model: A, memory: 1, compute: "9.0", pci: "0000:01:00.0", fabric: )" +
         first + R"(}
- {model: A, memory: 1, compute: "9.0", pci: "0000:02:00.0", fabric: )" +
         second + "}\n";
}
constexpr char kCluster[] = "{cluster: 5e1f00000000400080000000000000aa, clique: 3}";

TEST_F(LabelFactsTest, AFabricOfSeveralNodesIsNamed) {
  Make("1xt4");
  node_->SetHardware(FabricOf(kCluster, kCluster));
  const Result<Labels> labels = GpuLabeller(config_).Read();
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->at("nvidia.com/gpu.clique"), "5e1f0000-0000-4000-8000-0000000000aa.3");
}

TEST_F(LabelFactsTest, AFabricThatIsNotCompletedOrThisNodesOwnIsNotNamed) {
  Make("1xt4");
  for (const char* fabric :
       {"{cluster: 00000000000000000000000000000000, clique: 3}",
        "{cluster: 5e1f00000000400080000000000000aa, clique: 3, state: 2}",
        "{cluster: 5e1f00000000400080000000000000aa, clique: 3, status: 999}"}) {
    node_->SetHardware(FabricOf(fabric, fabric));
    const Result<Labels> labels = GpuLabeller(config_).Read();
    ASSERT_TRUE(labels);
    EXPECT_FALSE(labels->contains("nvidia.com/gpu.clique")) << fabric;
  }
}

TEST_F(LabelFactsTest, WithoutAllOfItsConfigurationSpaceNobodyKnowsWhetherAGpuIsVirtual) {
  Make("1xt4");
  Write("/sys/bus/pci/devices/0000:00:1e.0/config", std::string(64, '\0'));
  const Result<Labels> labels = GpuLabeller(config_).Read();
  ASSERT_TRUE(labels);
  EXPECT_FALSE(labels->contains("nvidia.com/vgpu.present"));
}

TEST_F(LabelFactsTest, AGpuThatIsLostIsAsItWasAndOneThatNeverAnsweredIsNotCounted) {
  Make("8xa100");
  node_->SetFaults("gpus: {2: {lost: true}}");
  GpuLabeller labeller(config_);
  EXPECT_EQ(labeller.Read().value().at("nvidia.com/gpu.count"), "7");

  node_->SetFaults("");
  const Labels all = labeller.Read().value();
  EXPECT_EQ(all.at("nvidia.com/gpu.count"), "8");

  node_->SetFaults("gpus: {5: {lost: true}, 6: {hang: all}}");
  EXPECT_EQ(labeller.Read().value(), all);
  node_->SetFaults("");
}

TEST_F(LabelFactsTest, AGpuThatIsLostWhileTheConfigurationIsReadAgainIsAsItWas) {
  Make("8xa100");
  auto former = std::make_unique<GpuLabeller>(config_);
  const Labels all = former->Read().value();
  node_->SetFaults("gpus: {5: {lost: true}}");

  GpuLabeller labeller(config_);
  former.reset();

  EXPECT_EQ(labeller.Read().value(), all);
}

TEST_F(LabelFactsTest, ANodeOfWhichNoGpuHasAnsweredYetIsNoneWithoutGpus) {
  Make("1xt4");
  node_->SetFaults("gpus: {0: {lost: true}}");
  GpuLabeller labeller(config_);

  const Error error = labeller.Read().error();
  EXPECT_EQ(error.reason, Reason::kScanFailed);
  EXPECT_TRUE(error.message.starts_with("GPU 0: ")) << error.message;

  node_->SetFaults("");
  EXPECT_EQ(labeller.Read().value().at("nvidia.com/gpu.count"), "1");
}

TEST_F(LabelFactsTest, WithoutADriverNothingIsKnownButWhatPciTells) {
  Make("8xa100");
  node_->RemoveDriver();
  GpuLabeller labeller(config_);

  EXPECT_EQ(labeller.Read().error().reason, Reason::kDriverMissing);
  EXPECT_EQ(AllLines(labeller.WithoutDevices()), "vgpu.present=false\n");
}

TEST_F(LabelFactsTest, TheTimestampIsThatOfTheBeginning) {
  Make("1xt4");
  config_.labels.timestamp = true;
  GpuLabeller labeller(config_);
  const Labels first = labeller.Read().value();

  EXPECT_EQ(first.at("nvidia.com/gfd.timestamp").size(), 10U);
  EXPECT_EQ(labeller.Read().value(), first);
}

TEST(LabelPolicy, ResourcesOfAFileOfOursAreUnderstoodAsNvidiasAre) {
  config::Config config;
  const auto add = [&](const std::string& name, NvidiaConfig kind, Policy policy) {
    config::Resource& resource = config.resources.emplace_back();
    resource.name = name;
    resource.kind = config::KindConfig::Of(std::move(kind));
    resource.policy = policy;
  };
  EXPECT_EQ(LabelPolicyOf(config), LabelPolicy());

  add("example.com/a100", {}, {Division::kReplicas, 3});
  add("nvidia.com/gpu", {}, {Division::kReplicas, 5});
  add("nvidia.com/mig-1g.10gb", {.mig = "1g.10gb"}, {Division::kReplicas, 2});
  add("nvidia.com/mig-{profile}.shared", {.mig = "2g.20gb"}, {Division::kReplicas, 4});
  add("nvidia.com/mig-{profile}", {.mig = "*"}, {Division::kMps, 6});

  const auto slicing = SharingStrategy::kTimeSlicing;
  EXPECT_EQ(LabelPolicyOf(config),
            (LabelPolicy{.mig_strategy = MigStrategy::kMixed,
                         .mps = true,
                         .gpus = {slicing, 3, true},
                         .profiles = {{"1g.10gb", {slicing, 2, false}},
                                      {"2g.20gb", {slicing, 4, true}},
                                      {"*", {SharingStrategy::kMps, 6, false}}}}));
}

}  // namespace
}  // namespace tessera::nvidia
