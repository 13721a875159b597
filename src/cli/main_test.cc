// SPDX-License-Identifier: Apache-2.0
// The real command tree: what must be true of every command of it.
#include "cli/main.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command/completion.h"
#include "cli/command/help.h"
#include "cli/command/layout.h"
#include "cli/command/man_page.h"
#include "cli/command/parse.h"
#include "cli/command/run_program_test.h"
#include "cli/commands.h"
#include "version.h"

namespace tessera::cli {
namespace {

struct Place {
  std::string path;
  const Command* command;
};

void Walk(const Command& command, const std::string& path, std::vector<Place>& places) {
  places.push_back({path, &command});
  for (const Command& child : command.commands) Walk(child, path + " " + child.name, places);
}

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { Walk(program_, "tessera", places_); }

  Command program_ = Program();
  std::vector<Place> places_;
};

TEST_F(ProgramTest, EveryCommandIsDescribed) {
  for (const Place& place : places_) {
    EXPECT_FALSE(place.command->summary.empty()) << place.path;
    EXPECT_TRUE(place.command->description.ends_with('.')) << place.path;
    EXPECT_TRUE(place.command->run || !place.command->commands.empty()) << place.path;
    for (const Option& option : place.command->options) {
      EXPECT_FALSE(option.help.empty()) << place.path << " " << option.name;
    }
  }
}

TEST_F(ProgramTest, EveryCommandThatTakesSomethingHasAnExample) {
  for (const Place& place : places_) {
    if (!place.command->run) continue;
    EXPECT_FALSE(place.command->examples.empty()) << place.path;
    for (const Example& example : place.command->examples) {
      EXPECT_NE(example.line.find(place.path), example.line.npos) << example.line;
    }
  }
}

TEST_F(ProgramTest, HelpFitsIntoEightyColumns) {
  for (const Place& place : places_) {
    for (const std::string& line : Split(HelpText(*place.command, place.path), '\n')) {
      EXPECT_LE(Width(line), 80U) << line;
    }
  }
}

// A daemon's start leaves out options, but never one that its words may mean.
TEST_F(ProgramTest, AShortCommandOfTheAgentMeansWhatItMeansInTheWholeTree) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"agent"},
           {"agent", "--config", "a.yaml"},
           {"agent", "--config=a.yaml"},
           {"agent", "--config", "a.yaml", "--log-level", "debug"},
           {"agent", "nvidia", "--config-file", "b.yaml"},
           {"agent", "--config="},
           {"agent", "--config", "--help"},
           {"agent", "--cofnig", "a.yaml"},
           {"agent", "a.yaml"},
           {"agent", "--help"}}) {
    Command few{.name = "tessera", .commands = {AgentCommandFor(words)}};
    const Parsed shown = Parse(few, words);
    const Parsed whole = Parse(program_, words);
    EXPECT_EQ(shown.text, whole.text) << Join(words, " ");
    EXPECT_EQ(shown.exit_code, whole.exit_code) << Join(words, " ");
    EXPECT_EQ(shown.arguments.values(), whole.arguments.values()) << Join(words, " ");
    EXPECT_EQ(shown.arguments.words(), whole.arguments.words()) << Join(words, " ");
  }
}

TEST_F(ProgramTest, CompletionKnowsEveryCommand) {
  std::string bash = BashCompletion(program_);
  std::string zsh = ZshCompletion(program_);

  for (const Place& place : places_) {
    EXPECT_NE(bash.find("'" + place.path + "')"), bash.npos) << place.path;
    std::string function = "_" + place.path;
    std::replace_if(
        function.begin(), function.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    function += "() {";
    EXPECT_NE(zsh.find(function), zsh.npos) << function;
  }
}

TEST_F(ProgramTest, BashTakesTheCompletionScript) {
  auto [code, text] = RunProgram({"/bin/bash", "--norc", "-n", "-c", BashCompletion(program_)});

  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text, "");
}

TEST_F(ProgramTest, ManPageRendersWithoutWarnings) {
  std::string directory = os::MakeTemporaryDirectory("/tmp/tessera-cli-").value();
  std::string page = directory + "/tessera.1";
  ASSERT_TRUE(os::WriteFileAtomically(page, ManPage(program_, "0.1.0"), 0644).has_value());

  auto [code, text] =
      RunProgram({"/usr/bin/env", "LC_ALL=C", "MANWIDTH=80", "MANROFFSEQ=", "/usr/bin/man",
                  "--warnings", "-P", "cat", "-l", page});

  EXPECT_EQ(code, 0) << "man is of the package man-db";
  EXPECT_NE(text.find("NAME\n"), text.npos) << text;
  EXPECT_EQ(text.find("warning:"), text.npos) << text;
  for (const Place& place : places_) EXPECT_NE(text.find(place.path), text.npos) << place.path;
  (void)os::RemoveTree(directory);
}

// Exit code, then what was written to standard output.
std::string OutputAs(const std::string& name, std::vector<std::string> words) {
  words.insert(words.begin(), name);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  int code = Main(static_cast<int>(argv.size()), argv.data());
  return std::to_string(code) + " " + testing::internal::GetCapturedStdout();
}

std::string OutputOf(std::vector<std::string> words) {
  return OutputAs("tessera", std::move(words));
}

TEST_F(ProgramTest, VersionMayBeAskedForAsAFlag) {
  EXPECT_TRUE(OutputOf({"--version"}).starts_with("0 tessera " TESSERA_VERSION " (commit "));
  EXPECT_EQ(OutputOf({"--version"}), OutputOf({"version"}));
}

TEST_F(ProgramTest, WhatIsAProgramOfItsOwnSaysWhich) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(OutputOf({"demo", "--speed", "2"}), "2 ");
  EXPECT_EQ(OutputOf({"kubelet", "--dir", "/tmp/k"}), "2 ");
  EXPECT_EQ(OutputOf({"fault", "heal", "dummy.com/npu", "7"}), "2 ");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tessera: 'tessera demo' is 'tessera-sim demo'\n"
            "tessera: 'tessera kubelet' is 'tessera-sim kubelet'\n"
            "tessera: 'tessera fault' is 'tessera-sim fault'\n");
}

TEST_F(ProgramTest, ABuildThatLoadsItsLibrariesSaysThatTheyAreTheSystems) {
  EXPECT_EQ(OutputOf({"version", "--libraries"}), "0 libraries are those of the system\n");
}

TEST_F(ProgramTest, HelpMayBeAskedForAsACommand) {
  EXPECT_EQ(OutputOf({"help"}), OutputOf({"--help"}));
  EXPECT_EQ(OutputOf({"help", "devices", "cordon"}), OutputOf({"devices", "cordon", "--help"}));
}

TEST_F(ProgramTest, UnderTheNameOfNvidiasPluginItTakesThatOnesFlags) {
  const std::string help = OutputOf({"agent", "nvidia", "--help"});
  EXPECT_TRUE(help.starts_with("0 Serves the GPUs of this node")) << help;
  EXPECT_EQ(OutputAs("/usr/bin/nvidia-device-plugin", {"-h"}), help);
  EXPECT_EQ(OutputOf({"help", "agent", "nvidia"}), help);
  EXPECT_EQ(OutputAs("nvidia-device-plugin", {"--version"}), OutputOf({"version"}));
  EXPECT_EQ(OutputAs("nvidia-device-plugin", {"--no-such-flag"}), "2 ");
}

TEST_F(ProgramTest, UnderTheNameOfNvidiasMpsDaemonItTakesThatOnesWords) {
  const std::string help = OutputOf({"mps", "nvidia", "--help"});
  EXPECT_TRUE(help.starts_with("0 Keeps the MPS control daemons")) << help;
  EXPECT_EQ(OutputAs("/usr/bin/mps-control-daemon", {"--help"}), help);
  EXPECT_EQ(OutputAs("mps-control-daemon", {"--no-such-flag"}), "2 ");
}

}  // namespace
}  // namespace tessera::cli
