// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/load.h"

#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

std::string CameFrom(const Given& given, std::string_view key) {
  const Loaded loaded = LoadGiven(given);
  EXPECT_EQ(config::Text(loaded.errors), "");
  const auto found = loaded.sources.find(key);
  return found == loaded.sources.end() ? "default" : found->second;
}

TEST(SchedulerSettings, WithoutAnythingTheyAreThoseOfHamisChart) {
  Settings wanted;
  wanted.lease_name = "hami-scheduler";
  EXPECT_EQ(Good({}), wanted);
}

TEST(SchedulerSettings, AFlagOverridesAVariableOverOurFile) {
  Given given;
  EXPECT_EQ(CameFrom(given, "lease.namespace"), "default");
  given.own = "lease: {namespace: a}\n";
  EXPECT_EQ(CameFrom(given, "lease.namespace"), "s.yaml:2");
  given.environment = {{"POD_NAMESPACE", "b"}};
  EXPECT_EQ(CameFrom(given, "lease.namespace"), "environment POD_NAMESPACE");
  EXPECT_EQ(Good(given).lease_namespace, "b");
  given.words = {"--leader-elect-resource-namespace=c"};
  EXPECT_EQ(CameFrom(given, "lease.namespace"), "flag --leader-elect-resource-namespace");
  EXPECT_EQ(Good(given).lease_namespace, "c");
}

TEST(SchedulerSettings, OurFileOverridesHamis) {
  Given given{.hami = "nvidia:\n  resourceCountName: a.io/gpu\n  defaultMemory: 1000\n"};
  EXPECT_EQ(CameFrom(given, "nvidia.count"), "h.yaml:2");
  EXPECT_EQ(Good(given).count_name, "a.io/gpu");
  given.own = "nvidia: {count: b.io/gpu}\n";
  EXPECT_EQ(Good(given).count_name, "b.io/gpu");
  EXPECT_EQ(Good(given).default_memory, 1000);
}

TEST(SchedulerSettings, TheLeaseIsCalledAsTheFirstSchedulersName) {
  EXPECT_EQ(Good({.words = {"--scheduler-name=a,b"}}).lease_name, "a");
  EXPECT_EQ(Good({.words = {"--scheduler-name=a,b"}}).scheduler_names,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Good({.words = {"--scheduler-name=a", "--leader-elect-resource-name=l"}}).lease_name,
            "l");
}

TEST(SchedulerSettings, AnEmptyVariableSaysNothing) {
  EXPECT_EQ(Good({.environment = {{"HAMI_NODELOCK_EXPIRE", ""}}}).lock_timeout,
            std::chrono::minutes(5));
  EXPECT_EQ(Good({.environment = {{"HAMI_NODELOCK_EXPIRE", "1m30s"}}}).lock_timeout,
            std::chrono::seconds(90));
}

TEST(SchedulerSettings, EveryFlagOfHamisWithAMeaningIsTaken) {
  const Settings settings =
      Good({.words = {
                "--http_bind=0.0.0.0:443", "--cert_file=/tls/tls.crt", "--key_file=/tls/tls.key",
                "--scheduler-name=s", "--metrics-bind-address=:1", "--node-scheduler-policy=spread",
                "--gpu-scheduler-policy=binpack,numa", "--node-label-selector=gpu=on,a=b",
                "--node-lock-timeout=1m", "--node-lock-retry-timeout", "5s",
                "--force-overwrite-default-scheduler=false", "--leader-elect=false", "-v=5"}});
  EXPECT_EQ(settings.webhook_address, "0.0.0.0:443");
  EXPECT_EQ(settings.certificate_file, "/tls/tls.crt");
  EXPECT_EQ(settings.key_file, "/tls/tls.key");
  EXPECT_EQ(settings.status_address, ":1");
  EXPECT_EQ(settings.node_policy, "spread");
  EXPECT_EQ(settings.device_policies, (std::vector<std::string>{"binpack", "numa"}));
  EXPECT_EQ(settings.node_labels, (std::vector<std::string>{"gpu=on", "a=b"}));
  EXPECT_EQ(settings.lock_timeout, std::chrono::minutes(1));
  EXPECT_EQ(settings.lock_patience, std::chrono::seconds(5));
  EXPECT_FALSE(settings.takes_default_scheduler);
  EXPECT_FALSE(settings.uses_lease);
  EXPECT_EQ(settings.log_level, "debug");
}

TEST(SchedulerSettings, ABadValueOfAFlagIsTold) {
  EXPECT_EQ(
      ToldOf({.words = {"--node-scheduler-policy=binpak"}}),
      "flag --node-scheduler-policy: policies.node takes 'binpack' or 'spread', not 'binpak'; "
      "did you mean 'binpack'? [config-bad-value]\n");
  EXPECT_EQ(ToldOf({.words = {"--extender-bind=here"}}),
            "flag --extender-bind: extender.address must be ADDRESS:PORT, such as 127.0.0.1:9444, "
            "[::1]:9444 or, for all, :9444, not 'here' [config-bad-value]\n");
  EXPECT_EQ(ToldOf({.words = {"--leader-elect=maybe"}}),
            "flag --leader-elect: lease.use takes true or false, not 'maybe' "
            "[config-wrong-type]\n");
}

TEST(SchedulerSettings, WhatGoesTogetherIsChecked) {
  EXPECT_EQ(ToldOf({.own = "webhook: {certificateFile: /c}\n"}),
            "settings: webhook.keyFile is needed with webhook.certificateFile: name both, or "
            "neither [config-missing]\n");
  EXPECT_EQ(ToldOf({.own = "nvidia: {memory: nvidia.com/gpu}\n"}),
            "s.yaml:2: nvidia.memory is 'nvidia.com/gpu', the same as nvidia.count "
            "[config-duplicate]\n");
  EXPECT_EQ(ToldOf({.own = "schedulerNames: []\n"}),
            "s.yaml:2: schedulerNames needs at least one name [config-missing]\n");
}

TEST(SchedulerSettings, AnExtenderThatOthersReachIsWarnedOf) {
  const Loaded loaded = LoadGiven({.words = {"--extender-bind=:9444"}});
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(config::Text(loaded.warnings),
            "flag --extender-bind: extender.address is ':9444', which other pods may reach to bind "
            "pods to nodes and devices; 127.0.0.1:9444 serves only this pod "
            "[config-open]\n");
}

TEST(SchedulerSettings, WhatHasNoEffectIsNoted) {
  const Loaded loaded = LoadGiven(
      {.hami = "nvidia: {}\n", .words = {"--kube-qps=50", "--debug", "--kube-burst", "100"}});
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.notes,
            (std::vector<std::string>{
                "without effect: --kube-qps, --kube-burst: the program paces its calls to the API "
                "server by itself",
                "without effect: --debug: '-v 5' makes the log say more"}));
}

}  // namespace
}  // namespace tessera::scheduler
