// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/table.h"

#include <algorithm>

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

std::string Refused(std::string_view flag, const std::string& text) {
  Settings settings;
  const auto misfit = StoreLoosely(*OptionOfFlag(flag), text, settings);
  return misfit ? misfit->message : "";
}

TEST(SchedulerTable, NamesAreThoseOfKubernetes) {
  EXPECT_EQ(Refused("scheduler-name", "hami-scheduler"), "");
  for (const char* name : {"Hami", "-a", "a-", "a b", "a/b"}) {
    EXPECT_EQ(Refused("scheduler-name", name),
              "must be a name of small letters, digits, - and ., not '" + std::string(name) + "'");
  }
}

TEST(SchedulerTable, LabelsOfNodesHaveAValue) {
  EXPECT_EQ(Refused("node-label-selector", "gpu=on"), "");
  EXPECT_EQ(Refused("node-label-selector", "gpu="), "");
  for (const char* label : {"gpu", "=on", "gpu!=on", "a=b=c"}) {
    EXPECT_EQ(Refused("node-label-selector", label),
              "must be LABEL=VALUE, such as gpu=on, not '" + std::string(label) + "'");
  }
}

TEST(SchedulerTable, TheLabelOfNodesIsAKeyAlone) {
  const auto told = [](const std::string& key) {
    return ToldOf({.own = "webhook: {nodeLabel: \"" + key + "\"}\n"});
  };
  for (const char* key : {"gpu", "nvidia.com/gpu.present", "A_b-1"})
    EXPECT_EQ(told(key), "") << key;
  for (const char* key : {"gpu=on", "-gpu", "a/", "/a", "A/b", "a/b/c", "a b"}) {
    EXPECT_NE(told(key).find("webhook.nodeLabel must be the key of a label, such as gpu or "
                             "nvidia.com/gpu.present, not '" +
                             std::string(key) + "' [config-bad-value]"),
              std::string::npos)
        << told(key);
  }
  EXPECT_NE(told(std::string(64, 'x')), "");
}

TEST(SchedulerTable, NoFlagKeyOrKeyOfHamisStandsTwice) {
  for (const auto column : {&Option::key, &Option::hami, &Option::flag}) {
    for (const Option& option : Options()) {
      if ((option.*column).empty()) continue;
      EXPECT_EQ(std::ranges::count(Options(), option.*column, column), 1) << option.*column;
    }
  }
}

TEST(SchedulerTable, EveryDefaultIsAGoodValue) {
  for (const Option& option : Options()) {
    Settings settings;
    const std::vector<std::string> texts = TextsOf(option, settings);
    if (texts.empty() || texts.front().empty()) continue;
    EXPECT_FALSE(Store(option, texts, settings)) << option.Name();
    EXPECT_EQ(settings, Settings()) << option.Name();
  }
}

}  // namespace
}  // namespace tessera::scheduler
