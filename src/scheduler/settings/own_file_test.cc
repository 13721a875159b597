// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/own_file.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

TEST(SchedulerFile, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(ToldOf({.own = "extender:\n  adress: 127.0.0.1:1\n"}),
            "s.yaml:3:3: unknown key 'adress' in extender; did you mean 'address'? "
            "[config-unknown-key]\n  adress: 127.0.0.1:1\n  ^\n");
}

TEST(SchedulerFile, AValueOfAnotherTypeIsTold) {
  EXPECT_EQ(ToldOf({.own = "schedulerNames: a\n"}),
            "s.yaml:2:17: schedulerNames takes a list, not 'a' [config-wrong-type]\n"
            "schedulerNames: a\n                ^\n");
  EXPECT_EQ(ToldOf({.own = "nvidia: {defaultCores: 101}\n"}),
            "s.yaml:2:24: nvidia.defaultCores takes a whole number from 0 to 100, not '101' "
            "[config-bad-value]\nnvidia: {defaultCores: 101}\n                       ^\n");
}

TEST(SchedulerFile, WhatTheWebhookGuardsAndByWhomIsRead) {
  const Settings settings =
      Good({.own = "webhook:\n  nodeLabel: gpu\n  guard: always\n"
                   "  protocolWriters: [\"system:serviceaccount:gpus:scheduler\"]\n"
                   "  administrators: []\n"});
  EXPECT_EQ(settings.node_label, "gpu");
  EXPECT_EQ(settings.guard, "always");
  EXPECT_EQ(settings.protocol_writers,
            std::vector<std::string>{"system:serviceaccount:gpus:scheduler"});
  EXPECT_EQ(settings.administrators, std::vector<std::string>{});
  EXPECT_EQ(ToldOf({.own = "webhook: {guard: sometimes}\n"}),
            "s.yaml:2:18: webhook.guard takes 'auto', 'always' or 'never', not 'sometimes' "
            "[config-bad-value]\nwebhook: {guard: sometimes}\n                 ^\n");
  EXPECT_EQ(ToldOf({.own = "webhook: {administrators: [\"\"]}\n"}),
            "s.yaml:2:27: webhook.administrators must be a name such as system:masters, not '' "
            "[config-bad-value]\nwebhook: {administrators: [\"\"]}\n                          ^\n");
}

TEST(SchedulerFile, AnotherFilesVersionIsTold) {
  Sources sources;
  sources.own = config::Document::Parse("t.yaml", "version: tessera/v1\n");
  EXPECT_EQ(config::Text(Load(std::move(sources)).errors),
            "t.yaml:1:10: the scheduler reads files of version 'tessera-scheduler/v1' "
            "[config-version]\nversion: tessera/v1\n         ^\n");
}

TEST(SchedulerFile, HamisFileIsNamedAsThat) {
  Sources sources;
  sources.own = config::Document::Parse("h.yaml", "nvidia: {}\n");
  const Loaded loaded = Load(std::move(sources));
  ASSERT_EQ(loaded.errors.size(), 1u);
  EXPECT_EQ(loaded.errors[0].message,
            "this is HAMi's device-config.yaml: name it by --device-config-file");
}

}  // namespace
}  // namespace tessera::scheduler
