// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/config_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command/parse.h"
#include "scheduler/cli/main.h"

namespace tessera::cli {
namespace {

// The output of `act` in its first file, then behind "--" in its second, then its exit code.
template <class F>
std::string Written(F act) {
  char* texts[2] = {};
  size_t sizes[2] = {};
  FILE* files[2] = {open_memstream(&texts[0], &sizes[0]), open_memstream(&texts[1], &sizes[1])};
  const int code = act(files[0], files[1]);
  for (FILE* file : files) std::fclose(file);
  std::string all = std::string(texts[0]) + "--" + texts[1] + "--" + std::to_string(code);
  for (char* text : texts) std::free(text);
  return all;
}

TEST(SchedulerConfigTest, ConfigPrintTakesTheSchedulersFlags) {
  const Command program = SchedulerProgram();
  const Parsed parsed = Parse(program, {"config", "print", "--http_bind=:1", "-v4"});
  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_EQ(parsed.arguments.words(), (std::vector<std::string>{"--http_bind=:1", "-v4"}));
}

TEST(SchedulerConfigTest, PrintTellsErrorsAndPrintsNothing) {
  const scheduler::Loaded loaded =
      scheduler::Load({.line = scheduler::ParseFlags(std::vector<std::string>{"--lieder-elect"})});
  EXPECT_EQ(Written([&](FILE* out, FILE* err) { return SettingsPrint(loaded, out, err); }),
            "--flag --lieder-elect: no such flag; did you mean 'leader-elect'? "
            "[config-unknown-key]\n--1");
}

TEST(SchedulerConfigTest, CheckOfAFileThatIsNotThereFails) {
  const std::string told =
      Written([](FILE* out, FILE* err) { return SettingsCheck("/nowhere.yaml", out, err); });
  EXPECT_TRUE(told.starts_with("--/nowhere.yaml: ")) << told;
  EXPECT_TRUE(told.ends_with("/nowhere.yaml: 1 error\n--1")) << told;
}

}  // namespace
}  // namespace tessera::cli
