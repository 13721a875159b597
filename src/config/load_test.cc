// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <gtest/gtest.h>

#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::config {
namespace {

using Map = std::map<std::string, std::string>;

LoadResult From(const std::string& text, Map environment = {}, Map flags = {}) {
  return Load(FullSchema(), {.file = Document::Parse("t.yaml", "version: tessera/v1\n" + text),
                             .environment = std::move(environment),
                             .flags = std::move(flags)});
}

Config Good(const std::string& text) {
  const LoadResult result = From(text);
  EXPECT_EQ(Text(result.errors), "");
  return result.config;
}

TEST(Load, AFileWithAVersionAloneGivesTheDefaults) {
  EXPECT_EQ(Good(""), Config{});
}

TEST(Load, FlagsOverrideVariablesWhichOverrideTheFile) {
  const LoadResult result = From("log: {level: warn, format: json}\nstate: {dir: /file}\n",
                                 {{"TESSERA_LOG_LEVEL", "error"}, {"TESSERA_LOG_FORMAT", "text"}},
                                 {{"log-level", "debug"}});
  EXPECT_EQ(Text(result.errors), "");
  EXPECT_EQ(result.config.log_level, log::Level::kDebug);
  EXPECT_EQ(result.config.log_format, log::Format::kText);
  EXPECT_EQ(result.config.state_dir, "/file");
  EXPECT_EQ(result.SourceOf("log.level"), "flag --log-level");
  EXPECT_EQ(result.SourceOf("log.format"), "environment TESSERA_LOG_FORMAT");
  EXPECT_EQ(result.SourceOf("state.dir"), "t.yaml:3");
  EXPECT_EQ(result.SourceOf("control.socket"), "default");
}

TEST(Load, AnEmptyVariableCountsAsNotSet) {
  const LoadResult result = From("", {{"TESSERA_LOG_LEVEL", ""}});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.SourceOf("log.level"), "default");
}

TEST(Load, AnEmptyFlagTakesAPathBackToItsDefault) {
  const LoadResult result = From("kubelet: {root: /x}\n", {}, {{"kubelet-root", ""}});
  EXPECT_EQ(result.config.kubelet.root, "");
}

TEST(Load, ErrorsOutsideTheFileNameWhereTheyAre) {
  const LoadResult result =
      From("", {{"TESSERA_HEALTH_FAILURES", "many"}}, {{"log-level", "debag"}, {"log-lvl", "x"}});
  EXPECT_EQ(Text(result.errors),
            "environment TESSERA_HEALTH_FAILURES: health.failures takes a whole number from 1 to "
            "100, not 'many' [config-wrong-type]\n"
            "flag --log-level: log.level takes 'debug', 'info', 'warn', 'error' or 'off', not "
            "'debag'; did you mean 'debug'? [config-bad-value]\n"
            "flag --log-lvl: no such flag; did you mean 'log-level'? [config-unknown-key]\n");
}

TEST(Load, MistypedVariablesAreWarnedAbout) {
  const LoadResult result =
      From("resources: [{name: a.com/b, dummy: }]\n",
           {{"TESSERA_LOG_LEVL", "debug"}, {"TESSERA_PORT", "tcp://10.0.0.1:80"}, {"HOME", "/"}});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(Text(result.warnings),
            "environment TESSERA_LOG_LEVL: is not a variable of Tessera's and has no effect; did "
            "you mean 'TESSERA_LOG_LEVEL'? [config-unknown-key]\n");
}

TEST(Load, NoResourcesIsLegalAndWarnedAbout) {
  EXPECT_EQ(Text(Load(FullSchema(), {}).errors), "");
  EXPECT_EQ(Text(Load(FullSchema(), {}).warnings),
            "no configuration file: no resources: the agent serves nothing [config-missing]\n");
  EXPECT_EQ(Text(From("").warnings),
            "t.yaml: no resources: the agent serves nothing [config-missing]\n");
}

TEST(Load, SettingsWithoutEffectAreWarnedAbout) {
  const LoadResult result = From(
      "resources:\n"
      "- name: a.com/b\n"
      "  files: {groups: [{paths: [{path: /a, mount: true, permissions: r},\n"
      "                            {path: /b, readOnly: false}]}]}\n");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(Text(result.warnings),
            "t.yaml:4:66: resources[0].files.groups[0].paths[0].permissions has no effect on a "
            "mount; 'readOnly' has [config-bad-value]\n"
            "  files: {groups: [{paths: [{path: /a, mount: true, permissions: r},\n"
            "                                                                 ^\n"
            "t.yaml:5:50: resources[0].files.groups[0].paths[1].readOnly has no effect on a device "
            "node; 'permissions' has [config-bad-value]\n"
            "                            {path: /b, readOnly: false}]}]}\n"
            "                                                 ^\n");
}

TEST(Load, AFloodOfErrorsIsCutShort) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "x" + std::to_string(i) + ": 1\n";
  const LoadResult result = From(text);
  ASSERT_EQ(result.errors.size(), 101u);
  EXPECT_EQ(result.errors.back().Text(), "t.yaml: 4900 errors more [config-unknown-key]");
}

TEST(LoadFile, AFileThatIsNamedMustBeThere) {
  const LoadResult result = LoadFile(FullSchema(), "/nonexistent/t.yaml", {}, {});
  EXPECT_EQ(Text(result.errors),
            "/nonexistent/t.yaml: there is no such file [config-unreadable]\n");
}

TEST(LoadFile, ReadsTheFileAnew) {
  const std::string directory = *os::MakeTemporaryDirectory("/tmp/tessera-config-");
  const std::string path = directory + "/t.yaml";
  ASSERT_TRUE(os::WriteFileAtomically(path, "version: tessera/v1\nstate: {dir: /a}\n"));
  EXPECT_EQ(LoadFile(FullSchema(), path, {}, {}).config.state_dir, "/a");
  ASSERT_TRUE(os::WriteFileAtomically(path, "version: tessera/v1\nstate: {dir: /b}\n"));
  EXPECT_EQ(LoadFile(FullSchema(), path, {}, {}).config.state_dir, "/b");
  EXPECT_TRUE(os::RemoveTree(directory));
}

}  // namespace
}  // namespace tessera::config
