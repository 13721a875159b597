// SPDX-License-Identifier: Apache-2.0
// What deploy/scheduler ships, by the programs that read it.
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

}  // namespace
}  // namespace tessera::scheduler
