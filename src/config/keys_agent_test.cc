// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "config/told_test.h"

namespace tessera::config {
namespace {

TEST(AgentKeys, ValuesReachTheirPlace) {
  const Config config = Good(
      "kubelet: {registration: plugin-watcher, pollInterval: 1s}\n"
      "health: {failures: 5, staleAfter: 2m}\n"
      "log: {level: off, format: json}\n"
      "labels: {output: file, sleepInterval: 5m, timestamp: false, removeOnExit: true}\n"
      "http: {address: \"off\"}\n");
  Config expected;
  expected.labels.output = LabelsOutput::kFile;
  expected.labels.sleep_interval = Duration(300'000);
  expected.labels.timestamp = false;
  expected.labels.remove_on_exit = true;
  expected.kubelet.registration = Registration::kPluginWatcher;
  expected.kubelet.poll = Duration(1'000);
  expected.health.policy.failures = 5;
  expected.health.stale_after = Duration(120'000);
  expected.log_level = log::Level::kOff;
  expected.log_format = log::Format::kJson;
  expected.http_address = "off";
  EXPECT_EQ(config, expected);
}

const BadInput kBadAgentInputs[] = {
    {"APathIsRelative", "kubelet: {root: kubelet}\n",
     "t.yaml:2:17: kubelet.root must be an absolute path, not 'kubelet' [config-bad-value]\n"
     "kubelet: {root: kubelet}\n"
     "                ^\n"},
    {"APathClimbs", "state: {dir: /var/../etc}\n",
     "t.yaml:2:14: state.dir must be a path without '..', not '/var/../etc' [config-bad-value]\n"
     "state: {dir: /var/../etc}\n"
     "             ^\n"},
    {"ATimeHasNoUnit", "kubelet: {pollInterval: 5}\n",
     "t.yaml:2:25: kubelet.pollInterval takes a time such as 250ms, 10s, 5m or 2h, not '5' "
     "[config-wrong-type]\n"
     "kubelet: {pollInterval: 5}\n"
     "                        ^\n"},
    {"ATimeIsOutOfRange", "health: {recovery: 100h}\n",
     "t.yaml:2:20: health.recovery takes a time from 0s to 24h, not '100h' [config-bad-value]\n"
     "health: {recovery: 100h}\n"
     "                   ^\n"},
    {"ANumberIsAWord", "health: {failures: three}\n",
     "t.yaml:2:20: health.failures takes a whole number from 1 to 100, not 'three' "
     "[config-wrong-type]\n"
     "health: {failures: three}\n"
     "                   ^\n"},
    {"ANumberIsAText", "health: {failures: \"3\"}\n",
     "t.yaml:2:20: health.failures takes a whole number from 1 to 100, not the text '3' "
     "[config-wrong-type]\n"
     "health: {failures: \"3\"}\n"
     "                   ^\n"},
    {"ANumberIsOutOfRange", "health: {passes: 0}\n",
     "t.yaml:2:18: health.passes takes a whole number from 1 to 100, not '0' [config-bad-value]\n"
     "health: {passes: 0}\n"
     "                 ^\n"},
    {"AChoiceIsMistyped", "log: {level: infos}\n",
     "t.yaml:2:14: log.level takes 'debug', 'info', 'warn', 'error' or 'off', not 'infos'; did you "
     "mean 'info'? [config-bad-value]\n"
     "log: {level: infos}\n"
     "             ^\n"},
    {"AChoiceIsAList", "log: {format: [text]}\n",
     "t.yaml:2:15: log.format takes 'text' or 'json', not a list [config-wrong-type]\n"
     "log: {format: [text]}\n"
     "              ^\n"},
    {"AnAddressHasNoHost", "http: {address: 9440}\n",
     "t.yaml:2:17: http.address must be 'off' or ADDRESS:PORT, such as 127.0.0.1:9440, [::1]:9440 "
     "or, for all, :9440, not '9440' [config-bad-value]\n"
     "http: {address: 9440}\n"
     "                ^\n"},
    {"ASocketPathIsTooLong",
     "control: {socket: "
     "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaa}\n",
     "t.yaml:2:19: control.socket is 108 bytes long; the path of a unix socket may have 107 "
     "[config-bad-value]\n"
     "control: {socket: "
     "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaa}\n"
     "                  ^\n"},
    {"ASocketPrefixHasASlash", "kubelet: {socketPrefix: a/b}\n",
     "t.yaml:2:25: kubelet.socketPrefix must be the beginning of a file name (at most 32 letters, "
     "digits, _, - and .), not 'a/b' [config-bad-value]\n"
     "kubelet: {socketPrefix: a/b}\n"
     "                        ^\n"},
};

using AgentKeysErrors = BadInputTest;

TEST_P(AgentKeysErrors, AreTold) {
  ExpectIsTold();
}

INSTANTIATE_TEST_SUITE_P(When, AgentKeysErrors, testing::ValuesIn(kBadAgentInputs), NameOf);

}  // namespace
}  // namespace tessera::config
