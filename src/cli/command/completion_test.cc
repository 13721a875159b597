// SPDX-License-Identifier: Apache-2.0
#include "cli/command/completion.h"

#include <gtest/gtest.h>

#include "cli/command/run_program_test.h"

namespace tessera::cli {
namespace {

Command Completed() {
  return {
      .name = "kitchen",
      .commands = {{.name = "cups",
                    .summary = "show cups: all of them",
                    .options = {{.name = "--output",
                                 .value = "FORMAT",
                                 .help = "form [of the answer]",
                                 .letter = 'o',
                                 .choices = {"table", "json"}},
                                {.name = "--quick", .help = "don't look twice"},
                                {.name = "--shelf", .value = "PATH", .help = "where"}},
                    .commands = {{.name = "fill", .summary = "fill one"}}},
                   {.name = "wash",
                    .summary = "wash up",
                    .options = {{.name = "HOW", .choices = {"hot", "cold"}}, {.name = "FILE"}}}}};
}

// The words that bash offers after `line`, one a line.
std::string Completed(const std::string& line) {
  std::string script = BashCompletion(Completed()) + "COMP_WORDS=(" + line +
                       ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_kitchen\n" +
                       "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  auto [code, text] = RunProgram({"/bin/bash", "--norc", "-c", script});
  EXPECT_EQ(code, 0) << text;
  return text;
}

TEST(BashCompletion, CommandsFirst) {
  EXPECT_EQ(Completed("kitchen ''"), "cups\nwash\n--help\n");
}

TEST(BashCompletion, BeginningsAreCompleted) {
  EXPECT_EQ(Completed("kitchen wa"), "wash\n");
}

TEST(BashCompletion, FlagsAndCommandsOfACommand) {
  EXPECT_EQ(Completed("kitchen cups ''"), "fill\n--output\n--quick\n--shelf\n--help\n");
}

TEST(BashCompletion, ValuesOfAFlag) {
  EXPECT_EQ(Completed("kitchen cups --output ''"), "table\njson\n");
  EXPECT_EQ(Completed("kitchen cups -o j"), "json\n");
}

TEST(BashCompletion, ValuesOfAnArgument) {
  EXPECT_EQ(Completed("kitchen wash --quick ho"), "hot\n");
}

TEST(BashCompletion, PathsForFlagsThatTakeThem) {
  EXPECT_EQ(Completed("kitchen cups --shelf /proc/self/envir"), "/proc/self/environ\n");
}

TEST(BashCompletion, FlagsOfTheInnermostCommand) {
  EXPECT_EQ(Completed("kitchen cups fill ''"), "--help\n");
}

TEST(ZshCompletion, WholeScript) {
  EXPECT_EQ(ZshCompletion(Completed()), R"(#compdef kitchen
# zsh completion for kitchen, made by 'kitchen completion zsh'

_kitchen() {
  local line state
  _arguments -s -C \
    '(-h --help)'{-h,--help}'[print this help]' \
    '1:command:->command' \
    '*::arguments:->arguments'
  case $state in
  command)
    local -a commands=(
      'cups:show cups: all of them'
      'wash:wash up'
    )
    _describe command commands ;;
  arguments)
    case $line[1] in
    cups) _kitchen_cups ;;
    wash) _kitchen_wash ;;
    esac ;;
  esac
}

_kitchen_cups() {
  local line state
  _arguments -s -C \
    '(-h --help)'{-h,--help}'[print this help]' \
    '(-o --output)'{-o,--output}'[form \[of the answer\]]:FORMAT:(table json)' \
    '--quick[don'\''t look twice]' \
    '--shelf[where]:PATH:_files' \
    '1:command:->command' \
    '*::arguments:->arguments'
  case $state in
  command)
    local -a commands=(
      'fill:fill one'
    )
    _describe command commands ;;
  arguments)
    case $line[1] in
    fill) _kitchen_cups_fill ;;
    esac ;;
  esac
}

_kitchen_cups_fill() {
  _arguments -s \
    '(-h --help)'{-h,--help}'[print this help]'
}

_kitchen_wash() {
  _arguments -s \
    '(-h --help)'{-h,--help}'[print this help]' \
    '1:HOW:(hot cold)' \
    '2:FILE:_files'
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _kitchen "$@"
else
  compdef _kitchen kitchen
fi
)");
}

}  // namespace
}  // namespace tessera::cli
