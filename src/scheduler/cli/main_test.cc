// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/main.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command/help_texts_test.h"
#include "os/files.h"
#include "scheduler/settings/options.h"

namespace tessera::cli {
namespace {

TEST(SchedulerMainTest, HelpHasEveryFlagThatHasAnEffect) {
  const std::vector<Option> options = SchedulerProgram().options;
  for (const scheduler::Option& option : scheduler::Options()) {
    if (option.flag.empty()) continue;
    const std::string name = "--" + std::string(option.flag);
    EXPECT_EQ(std::ranges::count(options, name, &Option::name), 1) << name;
  }
}

// As cli/texts_test.cc does.
TEST(SchedulerMainTest, HelpIsWrittenForToolsThatMeasureProse) {
  ASSERT_TRUE(os::MakeDirectories("build/texts"));
  ASSERT_TRUE(os::WriteFileAtomically("build/texts/tessera-scheduler.md",
                                      HelpTexts(SchedulerProgram()), 0644));
}

scheduler::Settings WithCertificate(const std::string& guard) {
  scheduler::Settings settings;
  settings.certificate_file = "/tls.crt";
  settings.guard = guard;
  return settings;
}

TEST(SchedulerMainTest, TheWebhooksGuardIsAsItIsSet) {
  EXPECT_TRUE(WebhookBy(WithCertificate("auto"), hami::VendorTable({})).guards_by_version);
  for (const char* guard : {"always", "never"}) {
    const scheduler::WebhookOptions options =
        WebhookBy(WithCertificate(guard), hami::VendorTable({}));
    EXPECT_FALSE(options.guards_by_version) << guard;
    EXPECT_EQ(options.rules.guard.on, guard == std::string("always")) << guard;
  }
}

TEST(SchedulerMainTest, TheWebhookAndTheClusterHaveTheSameVendorsInTheSameOrder) {
  scheduler::Settings settings = WithCertificate("auto");
  settings.vendors = {"amd", "nvidia", "ascend"};
  settings.others = {hami::UsualConfigs("amd")[0], hami::UsualConfigs("ascend")[0]};
  settings.others[1].runtime_class = "ascend";
  settings.others[1].hides_devices = true;
  const hami::VendorTable table(settings.others);
  const auto served = ServedBy(settings, table);
  const auto devices = WebhookBy(settings, table).rules.devices;
  ASSERT_EQ(served.size(), 3U);
  ASSERT_EQ(devices.size(), 3U);
  const std::vector<std::string_view> words = {"NVIDIA", "AMD", "Ascend910A"};
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(served[i].vendor->word, words[i]);
    EXPECT_EQ(devices[i].vendor, served[i].vendor);
    EXPECT_EQ(devices[i].requests.count_name, served[i].rules.count_name);
    EXPECT_EQ(devices[i].runtime_class, i == 2 ? "ascend" : "");
    EXPECT_EQ(devices[i].hides_devices, i == 2);
    EXPECT_EQ(devices[i].core_requests.has_value(), i == 2);
  }
  settings.vendors = {"amd", "ascend"};
  EXPECT_EQ(ServedBy(settings, table).size(), 2U);
}

TEST(SchedulerMainTest, TheWebhookKnowsTheLabelOfNodesAndWhoWritesTheProtocol) {
  scheduler::Settings settings = WithCertificate("auto");
  settings.node_label = "gpu";
  settings.protocol_writers = {"scheduler"};
  settings.administrators = {"us"};
  const webhook::Rules rules = WebhookBy(settings, hami::VendorTable({})).rules;
  EXPECT_EQ(rules.node_label, "gpu");
  EXPECT_EQ(rules.guard.writers, std::vector<std::string>{"scheduler"});
  EXPECT_EQ(rules.guard.administrators, std::vector<std::string>{"us"});
}

}  // namespace
}  // namespace tessera::cli
