// SPDX-License-Identifier: Apache-2.0
// The files of deploy/scheduler, checked by the programs that read them.
#include "base/text.h"
#include "hami/vendor_table.h"
#include "os/files.h"
#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

using config::Document;
using config::Node;

// A file of the ConfigMap; tests run in the root of the tree.
std::string Shipped(const char* name) {
  const Document document = Document::Read("deploy/scheduler/kube-scheduler.yaml");
  EXPECT_EQ(config::Text(document.problems()), "");
  const Node* data = document.root().Find("data");
  const Node* file = data == nullptr ? nullptr : data->Find(name);
  EXPECT_NE(file, nullptr) << name;
  return file == nullptr ? "" : file->scalar;
}

// The texts between single quotes in the expression of a variable of the policy.
std::vector<std::string> NamedByThePolicy(const std::string& variable) {
  std::vector<std::string> names;
  const std::string policy = *os::ReadFile("deploy/hami/policy.yaml");
  const size_t begin = policy.find("- name: " + variable + "\n");
  const std::string rest = policy.substr(begin, policy.find(']', begin) - begin);
  const std::vector<std::string> parts = Split(rest, '\'');
  for (size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
  return names;
}

TEST(SchedulerDeploy, WhoWritesTheProtocolIsTheSameToTheWebhookAndThePolicy) {
  EXPECT_EQ(NamedByThePolicy("writers"), Settings().protocol_writers);
  EXPECT_EQ(NamedByThePolicy("administrators"), Settings().administrators);
}

// All but its configurations.
std::string ServiceAndRightsIn(const std::string& file) {
  const std::string text = *os::ReadFile(file);
  const size_t begin = text.find("apiVersion: v1\nkind: Service\n");
  return text.substr(begin, text.find("apiVersion: admissionregistration") - begin);
}

TEST(SchedulerDeploy, TheWebhookBefore130HasTheSameServiceAndRights) {
  EXPECT_EQ(ServiceAndRightsIn("deploy/scheduler/before-1.30/webhook.yaml"),
            ServiceAndRightsIn("deploy/scheduler/webhook.yaml"));
}

TEST(SchedulerDeploy, KubeSchedulerIsToldTheSameAsWe) {
  Sources sources;
  sources.own = Document::Parse("scheduler.yaml", Shipped("scheduler.yaml"));
  const Loaded loaded = Load(std::move(sources));
  EXPECT_EQ(config::Text(loaded.errors) + config::Text(loaded.warnings), "");
  const Settings& settings = loaded.settings;
  const Document document = Document::Parse("kube-scheduler.yaml", Shipped("kube-scheduler.yaml"));
  ASSERT_EQ(config::Text(document.problems()), "");
  const Node& root = document.root();
  EXPECT_EQ(root.Find("leaderElection")->Find("resourceName")->scalar, settings.lease_name);
  std::vector<std::string> names;
  for (const Node& profile : root.Find("profiles")->items) {
    names.push_back(profile.Find("schedulerName")->scalar);
  }
  EXPECT_EQ(names, settings.scheduler_names);
  const Node& extender = root.Find("extenders")->items.at(0);
  EXPECT_EQ(extender.Find("urlPrefix")->scalar, "http://" + settings.extender_address);
  std::vector<std::string> managed;
  for (const Node& resource : extender.Find("managedResources")->items) {
    const Node* ignored = resource.Find("ignoredByScheduler");
    managed.push_back(resource.Find("name")->scalar + (ignored == nullptr ? "" : " ignored"));
  }
  EXPECT_EQ(managed, (std::vector<std::string>{
                         settings.count_name, settings.memory_name + " ignored",
                         settings.percentage_name + " ignored", settings.cores_name + " ignored",
                         settings.priority_name + " ignored"}));
}

TEST(SchedulerDeploy, TheDocsNameResourcesAndRegistersOfEachVendor) {
  const std::string page = *os::ReadFile("docs/reference/scheduler-settings.md");
  for (const std::string_view family : hami::kFamilies) {
    const hami::VendorConfig config = hami::UsualConfigs(family).front();
    const hami::VendorTable table({config});
    for (std::string name : {config.count, config.memory, config.cores,
                             std::string(table.rows()[0].vendor->node_register)}) {
      if (name.empty()) continue;
      const size_t word = name.find(config.word);
      if (!config.word.empty()) name.replace(word, config.word.size(), "W");
      EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace tessera::scheduler
