// SPDX-License-Identifier: Apache-2.0
#include "config/diff.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::config {
namespace {

Config ConfigFrom(const std::string& text) {
  const LoadResult result =
      Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n" + text)});
  EXPECT_TRUE(result.ok()) << Text(result.errors);
  return result.config;
}

constexpr const char* kTwo =
    "resources:\n"
    "- {name: dummy.com/a, env: A, dummy: {count: 4}}\n"
    "- {name: dummy.com/b, env: B, dummy: {count: 4}}\n";

TEST(Compare, TheSameConfigurationIsNoDifference) {
  const Difference difference = Compare(FullSchema(), ConfigFrom(kTwo), ConfigFrom(kTwo));
  EXPECT_TRUE(difference.Empty());
}

TEST(Compare, TheOrderOfResourcesMeansNothing) {
  const Config other = ConfigFrom(
      "resources:\n"
      "- {name: dummy.com/b, env: B, dummy: {count: 4}}\n"
      "- {name: dummy.com/a, env: A, dummy: {count: 4}}\n");
  EXPECT_TRUE(Compare(FullSchema(), ConfigFrom(kTwo), other).Empty());
}

TEST(Compare, ResourcesComeGoAndStay) {
  const Config next = ConfigFrom(
      "resources:\n"
      "- {name: dummy.com/b, env: B, dummy: {count: 4}}\n"
      "- {name: dummy.com/c, env: C, dummy: {count: 4}}\n");
  const Difference difference = Compare(FullSchema(), ConfigFrom(kTwo), next);
  EXPECT_EQ(difference.removed, std::vector<std::string>{"dummy.com/a"});
  EXPECT_EQ(difference.added, std::vector<std::string>{"dummy.com/c"});
  EXPECT_TRUE(difference.changed.empty());
}

TEST(Compare, AResourceThatIsLeftOtherDevicesIsChanged) {
  const char* gpus = "- {name: nvidia.com/gpu, nvidia: {}}\n";
  const char* first = "- {name: nvidia.com/first, nvidia: {select: [{index: 0}]}}\n";
  const Difference difference =
      Compare(FullSchema(), ConfigFrom(std::string("resources:\n") + first + gpus),
              ConfigFrom(std::string("resources:\n") + gpus + first));
  const std::vector<Change> others = {
      {.path = "earlier resources", .before = "as they were", .after = "others"}};
  EXPECT_EQ(difference.changed,
            (std::vector<ResourceChange>{{.name = "nvidia.com/gpu", .changes = others},
                                         {.name = "nvidia.com/first", .changes = others}}));
}

TEST(Compare, FamiliesOfOneNameAreToldApartByTheirOrder) {
  const auto families = [](int replicas, const char* more) {
    return ConfigFrom(
        fmt::format("resources:\n"
                    "- {{name: \"nvidia.com/mig-{{profile}}\", policy: replicas, replicas: "
                    "{}, nvidia: {{mig: 1g.10gb}}}}\n{}",
                    replicas, more));
  };
  const char* all = "- {name: \"nvidia.com/mig-{profile}\", nvidia: {mig: \"*\"}}\n";

  const Difference difference = Compare(FullSchema(), families(2, ""), families(4, all));

  EXPECT_EQ(difference.added, std::vector<std::string>{"nvidia.com/mig-{profile} (2)"});
  EXPECT_EQ(difference.changed,
            (std::vector<ResourceChange>{
                {.name = "nvidia.com/mig-{profile}",
                 .changes = {{.path = "replicas", .before = "2", .after = "4"}}}}));
}

TEST(Compare, AChangedResourceNamesTheKeys) {
  const Config next = ConfigFrom(
      "resources:\n"
      "- {name: dummy.com/a, env: A, policy: replicas, replicas: 2, dummy: {count: 5}}\n"
      "- {name: dummy.com/b, env: B, dummy: {count: 4}}\n");
  const Difference difference = Compare(FullSchema(), ConfigFrom(kTwo), next);
  ASSERT_EQ(difference.changed.size(), 1u);
  EXPECT_EQ(difference.changed[0],
            (ResourceChange{.name = "dummy.com/a",
                            .changes = {{.path = "policy", .before = "whole", .after = "replicas"},
                                        {.path = "replicas", .before = "1", .after = "2"},
                                        {.path = "dummy.count", .before = "4", .after = "5"}}}));
}

TEST(Compare, AChangeSaysWhatItEntails) {
  const Config next = ConfigFrom(
      "resources:\n"
      "- {name: dummy.com/a, env: A, dummy: {count: 4, reset: before-start}}\n"
      "- {name: dummy.com/b, env: B, dummy: {count: 4}}\n");
  const Difference difference = Compare(FullSchema(), ConfigFrom(kTwo), next);
  ASSERT_EQ(difference.changed.size(), 1u);
  EXPECT_EQ(difference.changed[0].changes, (std::vector<Change>{{.path = "dummy.reset",
                                                                 .before = "never",
                                                                 .after = "before-start",
                                                                 .effect = Effect::kRegister}}));
}

TEST(Compare, AnotherKindIsAChangeOfAllItsKeys) {
  const Config next = ConfigFrom(
      "resources:\n"
      "- {name: dummy.com/a, env: A, dummy: {count: 4}}\n"
      "- {name: dummy.com/b, env: B, files: {paths: [/dev/x]}}\n");
  const Difference difference = Compare(FullSchema(), ConfigFrom(kTwo), next);
  ASSERT_EQ(difference.changed.size(), 1u);
  EXPECT_EQ(difference.changed[0].name, "dummy.com/b");
  EXPECT_TRUE(difference.added.empty());
  EXPECT_TRUE(difference.removed.empty());
}

TEST(Compare, ItemsOfListsThatGoAreChanges) {
  const auto with = [](const std::string& nodes) {
    return ConfigFrom("resources:\n- {name: dummy.com/a, dummy: {nodes: " + nodes + "}}\n");
  };
  const Difference difference = Compare(
      FullSchema(), with("[{hostPath: /dev/a}, {hostPath: /dev/b}]"), with("[{hostPath: /dev/a}]"));
  ASSERT_EQ(difference.changed.size(), 1u);
  EXPECT_EQ(difference.changed[0].changes,
            (std::vector<Change>{
                {.path = "dummy.nodes[1].containerPath", .before = "/dev/b"},
                {.path = "dummy.nodes[1].hostPath", .before = "/dev/b"},
                {.path = "dummy.nodes[1].permissions", .before = "rw"},
            }));
}

TEST(Compare, SettingsSayWhetherTheyWaitForARestart) {
  const Difference difference =
      Compare(FullSchema(), ConfigFrom(""),
              ConfigFrom("log: {level: debug}\nstate: {dir: /data}\nhealth: {failures: 5}\n"));
  EXPECT_EQ(difference.settings, (std::vector<Change>{
                                     {.path = "health.failures", .before = "3", .after = "5"},
                                     {.path = "state.dir",
                                      .before = "/var/lib/tessera",
                                      .after = "/data",
                                      .effect = Effect::kRestart},
                                     {.path = "log.level", .before = "info", .after = "debug"},
                                 }));
  EXPECT_EQ(RestartWarnings(difference.settings),
            std::vector<std::string>{
                "state.dir stays '/var/lib/tessera' until the agent is restarted; the "
                "configuration now says '/data'"});
}

TEST(KeepUntilRestart, TakesWhatIsLiveAndKeepsTheRest) {
  const Config running = ConfigFrom("");
  const Config next = ConfigFrom(
      "log: {level: debug}\nstate: {dir: /data}\nadvertise: {debounce: 1s}\n" + std::string(kTwo));
  Config expected = next;
  expected.state_dir = "/var/lib/tessera";
  EXPECT_EQ(KeepUntilRestart(FullSchema(), running, next), expected);
}

// The settings that the agent reads only at its start.
TEST(KeepUntilRestart, CoversEverythingThatIsBoundAtTheStart) {
  std::vector<std::string> paths;
  for (const PathKey& key : FullSchema().keys()) {
    if (key.key->effect == Effect::kRestart) paths.push_back(key.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{
                       "kubelet.root", "kubelet.registration", "kubelet.socketPrefix",
                       "kubelet.registerTimeout", "kubelet.streamTimeout", "kubelet.pollInterval",
                       "api.use", "api.kubeconfig", "api.nodeName", "api.events", "api.condition",
                       "state.dir", "control.socket", "http.address", "ledger.pendingLimit",
                       "rootPrefix"}));
}

}  // namespace
}  // namespace tessera::config
