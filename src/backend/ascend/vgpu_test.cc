// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vgpu.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "backend/ascend/ascend.h"
#include "backend/ascend/node_test.h"
#include "backend/kind.h"
#include "backend/recorder_test.h"
#include "config/told_test.h"
#include "grant/fraction.h"

namespace tessera::ascend {
namespace {

using namespace config;  // the words of its keys

constexpr char kDivided[] =
    "resources:\n"
    "- name: huawei.com/Ascend910B3\n"
    "  policy: vgpu\n"
    "  replicas: 4\n"
    "  strategies: [cdi-cri]\n"
    "  cdi: {kind: tessera.dev/ascend-npu}\n";

Resource ResourceOf(const std::string& ascend) {
  return Good((kDivided + ("  ascend: " + ascend) + "\n").c_str()).resources[0];
}

AscendConfig ConfigOf(AscendConfig::Mode mode) {
  return {.profile = "Ascend910B3", .mode = mode, .vgpu = hami::AscendRow("Ascend910B3")};
}

TEST(AscendVgpu, AResourceIsDividedByTheTemplatesOfItsModel) {
  const Resource resource = ResourceOf("{profile: Ascend910B3}");
  const FractionRules& rules = resource.rendering.fractions.value();
  EXPECT_EQ(rules.parts, 4);
  EXPECT_EQ(rules.enforcer, nullptr);
  EXPECT_TRUE(rules.prepared);
  EXPECT_EQ(rules.requests->vendor->word, "Ascend910B3");
  EXPECT_EQ(rules.requests->memory_name, "huawei.com/Ascend910B3-memory");
  EXPECT_EQ(rules.requests->rules->sizes, (std::vector<int32_t>{16'384, 32'768, 65'536}));
  EXPECT_EQ(rules.registration->order_step, 64);
  EXPECT_TRUE(Prepares(*KindOf(resource), resource));
}

TEST(AscendVgpu, WithHuaweisRuntimeTheAgentPreparesNothing) {
  const Resource resource = ResourceOf("{profile: Ascend910B3, mode: runtime}");
  EXPECT_EQ(resource.rendering.fractions->enforcer, &RuntimeVariables());
  EXPECT_FALSE(resource.rendering.fractions->prepared);
  EXPECT_EQ(resource.rendering.env, "ASCEND_VISIBLE_DEVICES");
  EXPECT_FALSE(Prepares(*KindOf(resource), resource));
}

TEST(AscendVgpu, AResourceOfWholeChipsHasNoFractions) {
  const Config config = Good("resources: [{name: huawei.com/npu, ascend: {}}]\n");
  EXPECT_FALSE(config.resources[0].rendering.fractions.has_value());
}

using Envs = std::map<std::string, std::string>;

TEST(AscendVgpu, TheRuntimeIsToldTheChipsInThePlacementsOrder) {
  const Resource resource = ResourceOf("{profile: Ascend910B3, mode: runtime}");
  const FractionRules& rules = *resource.rendering.fractions;
  FractionGrant grant{
      .name = "g",
      .directory = "",
      .parts = {{.device = "a", .memory = 65'536}, {.device = "b", .memory = 65'536}},
      .visible = {"5", "2"}};
  EXPECT_EQ(RuntimeVariables().Envs(rules, grant), (Envs{{"ASCEND_VISIBLE_DEVICES", "5,2"}}));
  grant.parts = {{.device = "a", .memory = 16'384}};
  grant.visible = {"5"};
  EXPECT_EQ(RuntimeVariables().Envs(rules, grant),
            (Envs{{"ASCEND_VISIBLE_DEVICES", "5"}, {"ASCEND_VNPU_SPECS", "vir05_1c_16g"}}));
}

class VgpuTest : public NodeTest {
 protected:
  AscendBackend Backend(AscendConfig::Mode mode) {
    return {"huawei.com/Ascend910B3",
            ConfigOf(mode),
            root_,
            directory_ + "/state",
            loop_,
            SystemClock(),
            {}};
  }
  // A request for parts of these sizes of the first chips.
  static PrepareRequest RequestOf(const std::string& grant, const std::vector<Device>& devices,
                                  const std::vector<int64_t>& sizes) {
    PrepareRequest request{
        .grant = grant, .pod_uid = "uid-" + grant, .share_ids = {}, .devices = {}};
    for (size_t i = 0; i < sizes.size(); ++i) {
      request.devices.push_back(devices[i]);
      request.parts.push_back({.device = devices[i].key.id, .memory = sizes[i]});
    }
    request.deadline = SystemClock().Now() + Duration(10'000);
    return request;
  }
  static Status End(AscendBackend& backend, const std::string& grant) {
    return backend.preparer()->Unprepare(
        {.grant = grant, .pod_uid = "pod", .share_ids = {}, .devices = {}});
  }
  static std::vector<std::string> Nodes(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes) paths.push_back(node.host_path);
    return paths;
  }

  AscendNode node_{directory_, Eight910b3()};
  os::Loop loop_;
};

TEST_F(VgpuTest, ADeviceIsAChipWithoutItsOwnNode) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  ASSERT_EQ(devices.size(), 8U);
  EXPECT_EQ(devices[5].key.id, Id(5));
  EXPECT_EQ(devices[5].order, 5 * kOrderStep);
  EXPECT_EQ(devices[5].memory, 65'536);
  EXPECT_EQ(Nodes(devices[5]),
            (std::vector<std::string>{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}));
  EXPECT_EQ(Say(backend.Check(devices[5])), "good");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/davinci5"));
  EXPECT_EQ(Say(backend.Check(devices[5])), "fatal vanished /dev/davinci5 is gone");
}

TEST_F(VgpuTest, APartIsAVnpuOfItsTemplateAndAllOfAChipIsItsNode) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();

  const auto part = backend.preparer()->Prepare(RequestOf("a", devices, {32'768}));
  ASSERT_TRUE(part) << part.error().Text();
  EXPECT_EQ(part->edits.nodes, (std::vector<cdi::Node>{{.path = "/dev/davinci107",
                                                        .host_path = "/dev/vdavinci107",
                                                        .permissions = "rw"}}));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir10_3c_32g"});
  EXPECT_TRUE(End(backend, "a"));

  const auto whole = backend.preparer()->Prepare(RequestOf("b", devices, {65'536, 65'536}));
  ASSERT_TRUE(whole) << whole.error().Text();
  ASSERT_EQ(whole->edits.nodes.size(), 2U);
  EXPECT_EQ(whole->edits.nodes[0], (cdi::Node{.path = "/dev/davinci0", .permissions = "rw"}));
  EXPECT_EQ(whole->edits.nodes[1].path, "/dev/davinci1");
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
  EXPECT_TRUE(End(backend, "b"));
}

TEST_F(VgpuTest, PodsOfOneChipHaveVnpusOfTheirOwnAndItStaysHealthy) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("a", devices, {16'384})));
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("b", devices, {32'768})));
  EXPECT_EQ(node_.Vnpus(), (std::vector<std::string>{"106 vir10_3c_32g", "107 vir05_1c_16g"}));
  EXPECT_EQ(backend.Scan().value(), devices);
  EXPECT_EQ(Say(backend.Check(devices[0])), "good");
}

TEST_F(VgpuTest, AChipIsWholeOnceTheVnpusOfEndedPodsAreDestroyed) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("a", devices, {16'384})));
  EXPECT_EQ(backend.preparer()->Prepare(RequestOf("b", devices, {65'536})).error(),
            (Error{Reason::kUnavailable,
                   "chip 0 has a vNPU of pod uid-a, which is destroyed a while after that pod has "
                   "ended"}));
  EXPECT_TRUE(End(backend, "a"));
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("b", devices, {65'536})));
}

TEST_F(VgpuTest, AChipIsNotWholeWhileItHasAVnpuOfAnotherProgram) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("a", devices, {16'384})));
  node_.MakeVnpu(0, 100, "vir05_1c_16g");
  EXPECT_EQ(backend.preparer()->Prepare(RequestOf("b", devices, {65'536})).error(),
            (Error{Reason::kUnavailable,
                   "chip 0 has vNPU 100 of another program: destroy it with 'npu-smi set -t "
                   "destroy-vnpu -i 0 -c 0 -v 100'"}));
}

TEST_F(VgpuTest, AChipIsNotWholeWhileAVnpuMayBeInTheMaking) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  const VnpuRecords records(directory_ + "/state/ascend");
  OwnVnpu vnpu{
      .place = {}, .id = 107, .name = "vir05_1c_16g", .device = devices[0].key.id, .pod = "uid-a"};
  ASSERT_TRUE(records.Put("a", vnpu));
  EXPECT_EQ(backend.preparer()->Prepare(RequestOf("b", devices, {65'536})).error(),
            (Error{Reason::kUnavailable,
                   "chip 0 has a vNPU of pod uid-a, which is destroyed a while after that pod has "
                   "ended"}));
  vnpu.state = VnpuState::kLost;
  ASSERT_TRUE(records.Put("a", vnpu));
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("b", devices, {65'536})));
}

TEST_F(VgpuTest, AChipIsNotWholeBeforeAnotherCallForItHasEnded) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  node_.Fail("dcmi_create_vdevice", 0, 0);
  auto hanging = std::async(std::launch::async, [&] {
    return backend.preparer()->Prepare(RequestOf("a", devices, {16'384}));
  });
  const VnpuRecords records(directory_ + "/state/ascend");
  while (records.Now()->empty()) std::this_thread::yield();
  PrepareRequest whole = RequestOf("b", devices, {65'536});
  whole.deadline = SystemClock().Now();
  EXPECT_EQ(backend.preparer()->Prepare(whole).error(),
            (Error{Reason::kTimedOut, "another call for a vNPU of card 0 has not ended"}));
  node_.Mend();
  EXPECT_TRUE(hanging.get());
}

TEST_F(VgpuTest, ASizeThatIsNoTemplatesIsNotTheWholeChip) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_EQ(backend.preparer()->Prepare(RequestOf("a", devices, {8'192})).error(),
            (Error{Reason::kNotPlaced, "8192 MiB is no size of Ascend910B3: delete the pod"}));
}

// HAMi's plugin destroys every vNPU without a process, each minute and at its start (ascend-dp
// #135).
TEST_F(VgpuTest, TheVnpuOfAnIdlePodIsNeverDestroyedBeforeThePodEnds) {
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const std::vector<Device> devices = backend.Scan().value();
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("idle", devices, {16'384})));
  node_.UseVnpu(107, false);
  EXPECT_TRUE(backend.preparer()->Prepare(RequestOf("other", devices, {16'384})));
  EXPECT_TRUE(End(backend, "other"));
  AscendBackend restarted = Backend(AscendConfig::Mode::kNodes);
  EXPECT_EQ(restarted.Scan().value(), devices);
  EXPECT_EQ(Say(restarted.Check(devices[0])), "good");
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>{"107 vir05_1c_16g"});
  EXPECT_TRUE(End(restarted, "idle"));
  EXPECT_EQ(node_.Vnpus(), std::vector<std::string>());
}

TEST_F(VgpuTest, VnpusOfOtherProgramsTakeTheChipOutUnlessTheRuntimeMakesThem) {
  node_.MakeVnpu(0, 100, "vir05_1c_16g");
  AscendBackend backend = Backend(AscendConfig::Mode::kNodes);
  const Device device = backend.Scan().value()[0];
  EXPECT_EQ(device.defect,
            (Error{Reason::kUnavailable, "chip 0 has vNPUs that the agent did not make"}));
  AscendBackend runtime = Backend(AscendConfig::Mode::kRuntime);
  const Device same = runtime.Scan().value()[0];
  EXPECT_EQ(same.defect, std::nullopt);
  EXPECT_EQ(Nodes(same), std::vector<std::string>());
  EXPECT_EQ(runtime.preparer(), nullptr);
}

const BadInput kBadVgpus[] = {
    {"ThereIsNoModel",
     "resources:\n"
     "- name: huawei.com/npu\n"
     "  policy: vgpu\n"
     "  replicas: 4\n"
     "  strategies: [cdi-cri]\n"
     "  cdi: {kind: tessera.dev/ascend-npu}\n"
     "  ascend: {}\n",
     "t.yaml:8:11: resources[0].ascend with 'policy: vgpu' needs a 'profile' of HAMi's table: "
     "Ascend910A, Ascend910B2, Ascend910B3, Ascend910B4-1, Ascend910B4, Ascend310P, Ascend910C "
     "[config-unsupported]\n"
     "  ascend: {}\n"
     "          ^\n"},
    {"ThereIsNoCdi",
     "resources:\n"
     "- name: huawei.com/npu\n"
     "  policy: vgpu\n"
     "  replicas: 4\n"
     "  ascend: {profile: Ascend910B3, mode: runtime}\n",
     "t.yaml:6:11: resources[0].ascend with 'policy: vgpu' needs CDI: set 'strategies: [cdi-cri]' "
     "and a 'cdi.kind' such as tessera.dev/ascend-npu [config-unsupported]\n"
     "  ascend: {profile: Ascend910B3, mode: runtime}\n"
     "          ^\n"},
    {"TheSizeIsConfigured",
     "resources:\n"
     "- name: huawei.com/npu\n"
     "  policy: vgpu\n"
     "  replicas: 4\n"
     "  strategies: [cdi-cri]\n"
     "  cdi: {kind: tessera.dev/ascend-npu}\n"
     "  ascend: {profile: Ascend910B3, static: true}\n",
     "t.yaml:8:11: resources[0].ascend with 'policy: vgpu' cannot have 'template' or 'static': "
     "pods "
     "choose the sizes [config-unsupported]\n"
     "  ascend: {profile: Ascend910B3, static: true}\n"
     "          ^\n"},
    {"AnotherResourceHasTheChipsToo",
     "resources:\n"
     "- {name: huawei.com/a, policy: vgpu, replicas: 4, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/npu}, ascend: {profile: Ascend910B3, mode: runtime}}\n"
     "- {name: huawei.com/b, ascend: {profile: Ascend910B3, static: true, mode: runtime}}\n",
     "t.yaml:4:32: resources[1].ascend has devices that resources[0] has as well: give both a "
     "'profile' of their own [config-duplicate]\n"
     "- {name: huawei.com/b, ascend: {profile: Ascend910B3, static: true, mode: runtime}}\n"
     "                               ^\n"},
    {"TwoModelsAreDivided",
     "resources:\n"
     "- {name: huawei.com/a, policy: vgpu, replicas: 4, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/npu}, ascend: {profile: Ascend910B3, mode: runtime}}\n"
     "- {name: huawei.com/b, policy: vgpu, replicas: 7, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/duo}, ascend: {profile: Ascend310P, mode: runtime}}\n",
     "t.yaml:3:112: resources[0].ascend with 'policy: vgpu' cannot be on one node with devices of "
     "another model or vendor (huawei.com/b) that pods choose the size of [config-unsupported]\n"
     "- {name: huawei.com/a, policy: vgpu, replicas: 4, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/npu}, ascend: {profile: Ascend910B3, mode: runtime}}\n"
     "                                                                                             "
     "                  ^\n"
     "t.yaml:4:112: resources[1].ascend with 'policy: vgpu' cannot be on one node with devices of "
     "another model or vendor (huawei.com/a) that pods choose the size of [config-unsupported]\n"
     "- {name: huawei.com/b, policy: vgpu, replicas: 7, strategies: [cdi-cri], cdi: {kind: "
     "tessera.dev/duo}, ascend: {profile: Ascend310P, mode: runtime}}\n"
     "                                                                                             "
     "                  ^\n"},
};
using AscendVgpuErrors = BadInputTest;

TEST_P(AscendVgpuErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, AscendVgpuErrors, testing::ValuesIn(kBadVgpus), NameOf);

}  // namespace
}  // namespace tessera::ascend
