// SPDX-License-Identifier: Apache-2.0
#include "cli/command/parse.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/command/help.h"

namespace tessera::cli {
namespace {

int Nothing(const Arguments&) {
  return kOk;
}

Command Program() {
  Command fill = {
      .name = "fill",
      .summary = "fill a cup",
      .description = "Fills.",
      .options = {{.name = "CUP", .help = "which", .required = true},
                  {.name = "SAUCER", .help = "with what below"},
                  {.name = "--sugar", .value = "LUMPS", .help = "sweet", .repeated = true},
                  {.name = "--milk", .value = "DROPS", .help = "white", .repeated = true},
                  {.name = "--with", .value = "DRINK", .help = "drink", .required = true}},
      .run = Nothing};
  Command borrow = {.name = "borrow",
                    .summary = "as the neighbours do",
                    .description = "Borrows.",
                    .options = {{.name = "--long-cup", .help = "their way to ask"}},
                    .reads_words = true,
                    .run = Nothing};
  Command cups = {.name = "cups",
                  .summary = "show cups",
                  .description = "Shows cups.",
                  .options = {{.name = "--output",
                               .value = "FORMAT",
                               .help = "form",
                               .letter = 'o',
                               .fallback = "table",
                               .choices = {"table", "json"}},
                              {.name = "--quick", .help = "do not look twice"},
                              {.name = "--shelf",
                               .value = "PATH",
                               .help = "where",
                               .fallback = "/shelf",
                               .environment = "TESSERA_TEST_SHELF"}},
                  .commands = {fill, borrow},
                  .run = Nothing};
  return {
      .name = "kitchen", .summary = "a kitchen", .description = "A kitchen.", .commands = {cups}};
}

using Values = std::map<std::string, std::string, std::less<>>;

class ParseTest : public testing::Test {
 protected:
  Parsed Of(const std::vector<std::string>& words) { return Parse(program_, words); }
  // The message for wrong words.
  std::string Wrong(const std::vector<std::string>& words) {
    Parsed parsed = Of(words);
    EXPECT_EQ(parsed.command, nullptr);
    EXPECT_EQ(parsed.exit_code, kUsage);
    return parsed.text;
  }

  Command program_ = Program();
};

TEST_F(ParseTest, DefaultsAreFilledIn) {
  Parsed parsed = Of({"cups"});

  ASSERT_NE(parsed.command, nullptr);
  EXPECT_EQ(parsed.command->name, "cups");
  EXPECT_EQ(parsed.arguments.values(), (Values{{"output", "table"}, {"shelf", "/shelf"}}));
}

TEST_F(ParseTest, FlagsInEverySpelling) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"cups", "-o", "json", "--quick"},
        {"cups", "--quick", "-ojson"},
        {"cups", "--output=json", "--quick"},
        {"cups", "--output", "table", "-o", "json", "--quick"}}) {
    Parsed parsed = Of(words);
    ASSERT_NE(parsed.command, nullptr) << parsed.text;
    EXPECT_EQ(parsed.arguments.values(),
              (Values{{"output", "json"}, {"quick", "true"}, {"shelf", "/shelf"}}));
  }
}

TEST_F(ParseTest, EnvironmentStandsInForAFlag) {
  setenv("TESSERA_TEST_SHELF", "/env", 1);  // NOLINT(concurrency-mt-unsafe): one thread

  Parsed from_environment = Of({"cups"});
  Parsed from_flag = Of({"cups", "--shelf", "/flag"});
  unsetenv("TESSERA_TEST_SHELF");  // NOLINT(concurrency-mt-unsafe): one thread

  EXPECT_EQ(from_environment.arguments.Get("shelf"), "/env");
  EXPECT_EQ(from_flag.arguments.Get("shelf"), "/flag");
}

TEST_F(ParseTest, SubcommandTakesArgumentsInOrder) {
  Parsed parsed = Of({"cups", "fill", "7", "blue plate", "--with", "tea"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_EQ(parsed.command->name, "fill");
  EXPECT_EQ(parsed.arguments.Get("CUP"), "7");
  EXPECT_EQ(parsed.arguments.Get("SAUCER"), "blue plate");
  EXPECT_EQ(parsed.arguments.Get("with"), "tea");
}

TEST_F(ParseTest, ArgumentsLeftOutAreNotThere) {
  Parsed parsed = Of({"cups", "fill", "7", "--with", "tea"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_FALSE(parsed.arguments.Has("SAUCER"));
}

TEST_F(ParseTest, RepeatedFlagsKeepTheirOrder) {
  Parsed parsed = Of({"cups", "fill", "--sugar", "1", "7", "--milk=2", "--with", "tea", "--sugar",
                      "3", "--milk", "4"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  using Given = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parsed.arguments.repeated(),
            (Given{{"sugar", "1"}, {"milk", "2"}, {"sugar", "3"}, {"milk", "4"}}));
  EXPECT_EQ(parsed.arguments.Get("CUP"), "7");
  EXPECT_FALSE(parsed.arguments.Has("sugar"));
}

TEST_F(ParseTest, NamesOfCommandsMayBeArguments) {
  Parsed parsed = Of({"cups", "fill", "cups", "fill", "--with", "tea"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_EQ(parsed.arguments.Get("CUP"), "cups");
  EXPECT_EQ(parsed.arguments.Get("SAUCER"), "fill");
}

TEST_F(ParseTest, FlagsBeforeASubcommandCount) {
  Parsed parsed = Of({"cups", "--shelf", "/top", "fill", "7", "--with", "tea"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_EQ(parsed.arguments.Get("shelf"), "/top");
}

TEST_F(ParseTest, HelpIsForTheCommandNamed) {
  Parsed parsed = Of({"cups", "fill", "--help"});

  EXPECT_EQ(parsed.command, nullptr);
  EXPECT_EQ(parsed.exit_code, kOk);
  EXPECT_EQ(parsed.text, HelpText(program_.commands[0].commands[0], "kitchen cups fill"));
}

TEST_F(ParseTest, HelpForNoCommandNamesTheNearest) {
  EXPECT_EQ(
      Wrong({"cusp", "--help"}),
      "kitchen: there is no command 'cusp'; did you mean 'cups'?\n'kitchen --help' says more\n");
}

TEST_F(ParseTest, NothingSaidIsHelpAndWrongUsage) {
  EXPECT_EQ(Wrong({}), HelpText(program_, "kitchen"));
}

TEST_F(ParseTest, UnknownCommandGetsASuggestion) {
  EXPECT_EQ(
      Wrong({"cup"}),
      "kitchen: there is no command 'cup'; did you mean 'cups'?\n'kitchen --help' says more\n");
  EXPECT_EQ(Wrong({"refrigerator"}),
            "kitchen: there is no command 'refrigerator'\n'kitchen --help' says more\n");
}

TEST_F(ParseTest, UnknownFlagGetsASuggestion) {
  EXPECT_EQ(Wrong({"cups", "--outptu=json"}),
            "kitchen cups: there is no flag '--outptu=json'; did you mean '--output'?\n"
            "'kitchen cups --help' says more\n");
}

TEST_F(ParseTest, UnknownFlagIsSaidBeforeWhatIsMissing) {
  EXPECT_EQ(Wrong({"cups", "fill", "7", "--whit", "tea"}),
            "kitchen cups fill: there is no flag '--whit'; did you mean '--with'?\n"
            "'kitchen cups fill --help' says more\n");
}

TEST_F(ParseTest, OneArgumentTooMany) {
  EXPECT_EQ(
      Wrong({"cups", "fill", "7", "plate", "more", "--with", "tea"}),
      "kitchen cups fill: unexpected argument 'more'\n'kitchen cups fill --help' says more\n");
}

TEST_F(ParseTest, MissingArgumentsAreNamed) {
  EXPECT_EQ(Wrong({"cups", "fill", "--with", "tea"}),
            "kitchen cups fill: CUP is required\n'kitchen cups fill --help' says more\n");
  EXPECT_EQ(Wrong({"cups", "fill", "7"}),
            "kitchen cups fill: --with is required\n'kitchen cups fill --help' says more\n");
}

TEST_F(ParseTest, ValuesOutsideTheChoicesAreRefused) {
  EXPECT_EQ(Wrong({"cups", "-o", "xml"}),
            "kitchen cups: --output takes 'table' or 'json', not 'xml'\n"
            "'kitchen cups --help' says more\n");
}

TEST_F(ParseTest, MistypedChoiceGetsASuggestion) {
  EXPECT_EQ(Wrong({"cups", "-o", "jsno"}),
            "kitchen cups: --output takes 'table' or 'json', not 'jsno'; did you mean 'json'?\n"
            "'kitchen cups --help' says more\n");
}

TEST_F(ParseTest, MistypedChoiceIsSaidBeforeWhatIsMissing) {
  EXPECT_EQ(Wrong({"cups", "-o", "tabel", "fill"}),
            "kitchen cups fill: --output takes 'table' or 'json', not 'tabel'; did you mean "
            "'table'?\n'kitchen cups fill --help' says more\n");
}

TEST_F(ParseTest, FlagWithoutItsValueSaysWhichItTakes) {
  EXPECT_EQ(Wrong({"cups", "--output"}),
            "kitchen cups: --output needs a value: 'table' or 'json'\n"
            "'kitchen cups --help' says more\n");
  EXPECT_EQ(Wrong({"cups", "--shelf"}),
            "kitchen cups: --shelf needs a value: PATH\n'kitchen cups --help' says more\n");
}

TEST_F(ParseTest, AFlagWithNothingBehindItsEqualsSignTakesNoOtherWord) {
  EXPECT_EQ(Wrong({"cups", "--shelf=", "--quick"}),
            "kitchen cups: --shelf has no value after its '='\n'kitchen cups --help' says more\n");
}

TEST_F(ParseTest, ACommandThatReadsItsWordsGetsThemAsTheyAre) {
  Parsed parsed = Of({"cups", "--shelf", "/high", "borrow", "-long-cup", "--", "--help", "fill"});

  ASSERT_NE(parsed.command, nullptr) << parsed.text;
  EXPECT_EQ(parsed.command->name, "borrow");
  EXPECT_EQ(parsed.arguments.words(),
            (std::vector<std::string>{"-long-cup", "--", "--help", "fill"}));
  EXPECT_EQ(parsed.arguments.values(), (Values{{"output", "table"}, {"shelf", "/high"}}));
}

TEST_F(ParseTest, ItsNameMayBeTheValueOfAFlag) {
  Parsed shelf = Of({"cups", "--shelf", "borrow"});
  ASSERT_NE(shelf.command, nullptr) << shelf.text;
  EXPECT_EQ(shelf.command->name, "cups");
  EXPECT_EQ(shelf.arguments.Get("shelf"), "borrow");

  Parsed both = Of({"cups", "--shelf", "borrow", "borrow", "--x"});
  ASSERT_NE(both.command, nullptr) << both.text;
  EXPECT_EQ(both.command->name, "borrow");
  EXPECT_EQ(both.arguments.words(), std::vector<std::string>{"--x"});
}

TEST_F(ParseTest, SwitchMayBeTurnedOff) {
  EXPECT_TRUE(Of({"cups", "--quick"}).arguments.Has("quick"));
  EXPECT_FALSE(Of({"cups", "--quick=false"}).arguments.Has("quick"));
}

}  // namespace
}  // namespace tessera::cli
