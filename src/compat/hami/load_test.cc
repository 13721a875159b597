// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/load.h"

#include "compat/hami/told_test.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::config::hami {
namespace {

TEST(HamiLoad, AFlagOverridesAVariableOverTheNodesEntryOverTheFileOverTheDefault) {
  const std::string replicas = "resources[0].replicas";
  Started started;
  EXPECT_EQ(Came(started, replicas), "10  # HAMi's default");
  started.yaml = "nvidia:\n  deviceSplitCount: 2\n";
  EXPECT_EQ(Came(started, replicas), "2  # t.yaml:2");
  started.json = R"({"nodeconfig":[{"name":"worker-1","devicesplitcount":3}]})";
  EXPECT_EQ(Came(started, replicas), "3  # config.json, nodeconfig[0]");
  started.environment = {{"DEVICE_SPLIT_COUNT", "4"}};
  EXPECT_EQ(Came(started, replicas), "4  # environment DEVICE_SPLIT_COUNT");
  started.words = {"--device-split-count=5"};
  EXPECT_EQ(Came(started, replicas), "5  # flag --device-split-count");
}

TEST(HamiLoad, EveryFlagThatHamiPassesOverHasAnEffect) {
  const Config config = Good({.words = {"--device-split-count", "5", "--device-memory-scaling=1.8",
                                        "-device-cores-scaling", "1.5", "--disable-core-limit",
                                        "--resource-name=hami.io/gpu", "--node-name", "worker-2"}});
  EXPECT_EQ(GpuOf(config).name, "hami.io/gpu");
  EXPECT_EQ(GpuOf(config).policy.replicas, 5);
  EXPECT_EQ(NvidiaOf(config).vgpu.memory_scaling, 1.8);
  EXPECT_EQ(NvidiaOf(config).vgpu.core_scaling, 1.5);
  EXPECT_EQ(NvidiaOf(config).vgpu.core_policy, "disable");
  EXPECT_EQ(config.api.node_name, "worker-2");
}

TEST(HamiLoad, TheArgumentsOfItsChartAreTaken) {
  const Config config = Good({.words = {"--config-file=/device-config.yaml", "--mig-strategy=none",
                                        "--disable-core-limit=false", "-v=4"}});
  EXPECT_EQ(NvidiaOf(config).vgpu.core_policy, "");
  EXPECT_EQ(config.log_level, log::Level::kInfo);
  EXPECT_EQ(Good({.words = {"--v", "5"}}).log_level, log::Level::kDebug);
}

TEST(HamiLoad, TheNodesNameIsAFlagsOrAVariables) {
  const auto name_of = [](std::map<std::string, std::string> environment,
                          const std::vector<std::string>& words) {
    return NodeNameOf({.environment = std::move(environment),
                       .line = nvidia::ParseCommandLine(words, FurtherFlags())});
  };
  EXPECT_EQ(name_of({}, {}), "");
  EXPECT_EQ(name_of({{"NODE_NAME", "a"}}, {}), "a");
  EXPECT_EQ(name_of({{"NODE_NAME", "a"}, {"NodeName", "b"}}, {}), "b");
  EXPECT_EQ(name_of({{"NODE_NAME", "a"}, {"NodeName", "b"}}, {"--node-name=c"}), "c");
}

TEST(HamiLoad, OurOwnVariablesComeOnTop) {
  const LoadResult loaded = Load(FullSchema(),
                                 {.file = Document::Parse("t.yaml", "nvidia: {}\n"),
                                  .own_environment = {{"TESSERA_LOG_LEVEL", "debug"}},
                                  .own_flags = {{"state-dir", "/data"}}},
                                 {});
  EXPECT_EQ(loaded.config.log_level, log::Level::kDebug);
  EXPECT_EQ(loaded.SourceOf("state.dir"), "flag --state-dir");
}

class LoadEitherTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(dir_)); }
  LoadResult Load(const std::string& yaml, const std::vector<std::string>& words = {}) {
    return LoadEither(FullSchema(),
                      {.file = Document::Parse("t.yaml", yaml),
                       .environment = {{"NODE_NAME", "worker-1"}},
                       .line = nvidia::ParseCommandLine(words, FurtherFlags())},
                      nodes_);
  }

  const std::string dir_ = os::MakeTemporaryDirectory("/tmp/hami_load_test").value();
  NodeConfigFile nodes_{dir_ + "/config.json"};
};

TEST_F(LoadEitherTest, AFileWithAMapOfNvidiasIsHamis) {
  const LoadResult hamis = Load("cambricon: {}\nnvidia:\n  resourceCountName: hami.io/gpu\n");
  EXPECT_EQ(hamis.taken_for, "HAMi's");
  EXPECT_EQ(Text(hamis.errors), "");
  EXPECT_EQ(GpuOf(hamis.config).policy.division, Division::kVgpu);
  for (const char* yaml : {"version: v1\n", "nvidia: 1\n", "{}\n"}) {
    const LoadResult nvidias = Load(yaml);
    EXPECT_EQ(nvidias.taken_for, "NVIDIA's") << yaml;
    EXPECT_EQ(GpuOf(nvidias.config).policy.division, Division::kWhole) << yaml;
  }
}

TEST_F(LoadEitherTest, AFlagOfHamisNeedsAFileOfHamis) {
  EXPECT_EQ(Text(Load("version: v1\n", {"--device-split-count=5"}).errors),
            "flag --device-split-count: is a flag of HAMi's device plugin and needs HAMi's "
            "configuration: give --config-file a file with a map 'nvidia' [config-unknown-key]\n");
}

TEST_F(LoadEitherTest, TheNodesNameIsTakenWithAFileOfNvidiasToo) {
  const LoadResult loaded = Load("version: v1\n", {"--node-name=worker-2"});
  EXPECT_EQ(Text(loaded.errors), "");
  EXPECT_EQ(loaded.config.api.node_name, "worker-2");
  EXPECT_EQ(loaded.SourceOf("api.nodeName"), "flag --node-name");
}

TEST_F(LoadEitherTest, AKubeconfigAtHomeIsTakenWhereNoneIsNamed) {
  const auto kubeconfig = [&](const std::string& named) {
    return Good({.environment = {{"HOME", dir_}, {"KUBECONFIG", named}}}).api.kubeconfig;
  };
  EXPECT_EQ(kubeconfig(""), "");
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/.kube"));
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/.kube/config", "{}"));
  EXPECT_EQ(kubeconfig(""), dir_ + "/.kube/config");
  EXPECT_EQ(kubeconfig("/etc/kubeconfig"), "/etc/kubeconfig");
}

TEST_F(LoadEitherTest, TheNodesEntryIsRead) {
  ASSERT_TRUE(os::WriteFileAtomically(
      nodes_.path(), R"({"nodeconfig":[{"name":"worker-1","devicesplitcount":3}]})"));
  const LoadResult loaded = Load("nvidia: {}\n");
  EXPECT_EQ(GpuOf(loaded.config).policy.replicas, 3);
  EXPECT_EQ(loaded.SourceOf("resources[0].replicas"), nodes_.path() + ", nodeconfig[0]");
}

TEST_F(LoadEitherTest, OfABrokenFileOfNodesTheLastGoodOneStays) {
  ASSERT_TRUE(os::WriteFileAtomically(
      nodes_.path(), R"({"nodeconfig":[{"name":"worker-1","devicesplitcount":3}]})"));
  EXPECT_EQ(GpuOf(Load("nvidia: {}\n").config).policy.replicas, 3);

  ASSERT_TRUE(os::WriteFileAtomically(
      nodes_.path(), R"({"nodeconfig":[{"name":"worker-1","libcudaloglevel":1}]})"));
  const LoadResult broken = Load("nvidia: {deviceMemoryScaling: 1.8}\n");

  EXPECT_TRUE(broken.ok());
  ASSERT_FALSE(broken.warnings.empty());
  EXPECT_EQ(broken.warnings[0].Text(),
            nodes_.path() +
                ": nodeconfig[0].libcudaloglevel takes text in quotes, not '1'; its last good "
                "content stays [config-wrong-type]");
  EXPECT_EQ(GpuOf(broken.config).policy.replicas, 3);
  EXPECT_EQ(NvidiaOf(broken.config).vgpu.memory_scaling, 1.8);
}

}  // namespace
}  // namespace tessera::config::hami
