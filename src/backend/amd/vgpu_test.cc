// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/vgpu.h"

#include <gtest/gtest.h>

#include "backend/amd/gpus.h"
#include "config/told_test.h"
#include "grant/fraction.h"

namespace tessera::amd {
namespace {

using namespace config;  // the words of its keys

constexpr char kFirst[] = "e3ff74a1-0000-1000-80aa-140f9a5f9e31";
constexpr char kSecond[] = "22ff74a1-0000-1000-8050-f807caf2231a";
constexpr char kConfig[] =
    "resources:\n"
    "- {name: amd.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
    "tessera.dev/amd-gpu}, amd: {}}\n";

FractionGrant TwoGpus() {
  return {.name = "g",
          .directory = "",
          .parts = {{.device = kFirst, .memory = 49'152, .cores = 76, .units = "0-75"},
                    {.device = kSecond, .memory = 8'192, .cores = 8, .units = "0-3,8-11"}}};
}

using Envs = std::map<std::string, std::string>;

TEST(AmdVgpu, AContainersUnitsAreNumberedByTheGpusThatItNames) {
  EXPECT_EQ(CuMasks().Envs({}, TwoGpus()),
            (Envs{{"HSA_CU_MASK", "0:0-75;1:0-3,8-11"},
                  {"ROCR_VISIBLE_DEVICES", "GPU-e3aa140f9a5f9e31,GPU-2250f807caf2231a"}}));
  EXPECT_EQ(CuMasks().Mounts({}, TwoGpus()), std::vector<Mount>());
}

TEST(AmdVgpu, WhereTheNodeHasTheLibraryItLimitsMemory) {
  FractionGrant grant = TwoGpus();
  grant.licensed = true;
  const FractionRules rules{.directory = "", .library = "/opt/libamvgpu.so"};
  const Envs envs = CuMasks().Envs(rules, grant);
  EXPECT_EQ(envs.at("HIP_DEVICE_MEMORY_LIMIT"), "8192m");
  EXPECT_EQ(envs.at("LD_AUDIT"), "/usr/local/vgpu/libamvgpu.so");
  EXPECT_EQ(CuMasks().Mounts(rules, grant),
            (std::vector<Mount>{{.host_path = "/opt/libamvgpu.so",
                                 .container_path = "/usr/local/vgpu/libamvgpu.so"}}));
  EXPECT_EQ(CuMasks().LicenseFiles(rules), std::vector<std::string>{"/opt/libamvgpu.so"});
}

TEST(AmdVgpu, AResourceIsDividedByRequestsInUnits) {
  const Config config = Good(kConfig);
  const Resource& resource = config.resources[0];
  EXPECT_EQ(resource.kind.As<AmdConfig>()->ids, AmdConfig::Ids::kUuid);
  const FractionRules& rules = resource.rendering.fractions.value();
  EXPECT_EQ(rules.core_capacity, "cu");
  EXPECT_EQ(rules.parts, 10);
  EXPECT_EQ(rules.requests->vendor, &hami::kAmd);
  EXPECT_EQ(rules.requests->memory_name, "amd.com/gpumem");
  EXPECT_EQ(rules.requests->cores_name, "amd.com/gpucores");
  EXPECT_EQ(rules.requests->default_cores, 100);
  EXPECT_TRUE(rules.registration.has_value());
}

TEST(AmdVgpu, WholeGpusHaveNoFractions) {
  const Config config = Good("resources: [{name: amd.com/gpu, amd: {}}]\n");
  EXPECT_FALSE(config.resources[0].rendering.fractions.has_value());
}

Device GpuDevice(const std::string& id) {
  Device device;
  device.key = {"amd.com/gpu", id};
  device.memory = 196'592;
  device.traits = DeviceTraits{.capacities = {{"cu", 304}}};
  return device;
}

std::string TroubleOf(const Device& device, bool on = true, uint64_t gfx_version = 90402) {
  AmdConfig config;
  config.vgpu.on = on;
  const auto trouble = VgpuTrouble(config, device, gfx_version);
  return trouble ? trouble->message : "";
}

TEST(AmdVgpu, OnlyWholeGpusWithANameCanBeDivided) {
  EXPECT_EQ(TroubleOf(GpuDevice(kFirst)), "");
  EXPECT_EQ(TroubleOf(GpuDevice("0000:05:00.0")),
            "the driver does not report its serial number, by which ROCm would name it");
  Device part = GpuDevice(std::string(kFirst) + "-3");
  part.parent = kFirst;
  EXPECT_EQ(TroubleOf(part),
            "virtual GPUs are parts of a whole GPU, and this is a partition: set the GPU to SPX, "
            "or choose another policy");
  EXPECT_EQ(TroubleOf(part, false), "");
  EXPECT_EQ(TroubleOf(GpuDevice(kFirst), true, 110'000),
            "its compute units go in pairs (RDNA), which the agent cannot give out yet: choose "
            "another policy");
  Device untold = GpuDevice(kFirst);
  untold.memory = 0;
  EXPECT_EQ(TroubleOf(untold), "the driver does not report its memory and compute units");
}

TEST(AmdVgpu, AUuidHasTheSerialNumber) {
  EXPECT_EQ(UniqueIdOf(SmiUuid(0x8e1bb56457addd1b, "74b5")), 0x8e1bb56457addd1bU);
  EXPECT_EQ(UniqueIdOf(SmiUuid(0, "74a1")), 0U);
  for (const char* text :
       {"", "0000:05:00.0", "e3ff74a1-0000-1000-80aa-140f9a5f9e3",
        "e3ff74a1-0000-2000-80aa-140f9a5f9e31", "g3ff74a1-0000-1000-80aa-140f9a5f9e31"}) {
    EXPECT_EQ(UniqueIdOf(text), std::nullopt) << text;
  }
}

const BadInput kBadInputs[] = {
    {"ItNeedsCdi",
     "resources:\n"
     "- {name: amd.com/gpu, policy: vgpu, replicas: 10, amd: {}}\n",
     "t.yaml:3:56: resources[0].amd with 'policy: vgpu' needs CDI: set 'strategies: [cdi-cri]' and "
     "a 'cdi.kind' such as tessera.dev/amd-gpu [config-unsupported]\n"
     "- {name: amd.com/gpu, policy: vgpu, replicas: 10, amd: {}}\n"
     "                                                       ^\n"},
    {"AnotherVendorsPodsChooseTheirSizesToo",
     "resources:\n"
     "- {name: nvidia.com/gpu, policy: vgpu, replicas: 10, nvidia: {vgpu: {mode: requested}}}\n"
     "- {name: amd.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/amd-gpu}, amd: {}}\n",
     "t.yaml:4:113: resources[1].amd with 'policy: vgpu' cannot be on one node with virtual GPUs "
     "of "
     "another vendor (nvidia.com/gpu) that pods choose the size of [config-unsupported]\n"
     "- {name: amd.com/gpu, policy: vgpu, replicas: 10, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/amd-gpu}, amd: {}}\n"
     "                                                                                             "
     "                   ^\n"},
};
using AmdVgpuErrors = BadInputTest;

TEST_P(AmdVgpuErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, AmdVgpuErrors, testing::ValuesIn(kBadInputs), NameOf);

}  // namespace
}  // namespace tessera::amd
