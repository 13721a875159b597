// SPDX-License-Identifier: Apache-2.0
#include "cli/command/help.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(Help, WholeText) {
  Command fill = {.name = "fill", .summary = "fill a cup"};
  Command cups = {.name = "cups",
                  .summary = "show cups",
                  .description =
                      "Shows the cups of this kitchen: how many there are, how full they are, and "
                      "who drinks from them.\n\nNothing is filled.",
                  .options = {{.name = "CUP", .help = "one cup", .required = true},
                              {.name = "SAUCER", .help = "what it stands on"},
                              {.name = "--output",
                               .value = "FORMAT",
                               .help = "form of the answer",
                               .letter = 'o',
                               .fallback = "table",
                               .choices = {"table", "json"}},
                              {.name = "--quick", .help = "do not look twice"},
                              {.name = "--a-name-that-is-far-too-long",
                               .value = "SHELF",
                               .help = "where the cups are, which may take a long sentence to say",
                               .environment = "SHELF",
                               .required = true}},
                  .examples = {{"kitchen cups 7", "See one cup."}},
                  .commands = {fill},
                  .run = [](const Arguments&) { return kOk; }};

  EXPECT_EQ(HelpText(cups, "kitchen cups"),
            R"(Shows the cups of this kitchen: how many there are, how full they are, and who
drinks from them.

Nothing is filled.

Usage: kitchen cups [OPTIONS] CUP [SAUCER] [COMMAND]

Commands:
  fill  fill a cup

Arguments:
  CUP     one cup
  SAUCER  what it stands on

Options:
  -o, --output FORMAT  form of the answer (table, json) [default: table]
      --quick          do not look twice
      --a-name-that-is-far-too-long SHELF
                       where the cups are, which may take a long sentence to say
                       [required] [env: SHELF]
  -h, --help           print this help

Examples:
  kitchen cups 7
      See one cup.

Exit codes: 0 done, 1 failed (standard error says why), 2 wrong command line.
)");
}

}  // namespace
}  // namespace tessera::cli
