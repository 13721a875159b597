// SPDX-License-Identifier: Apache-2.0
#include "config/schema/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "config/schema/alias_bomb_test.h"
#include "os/files.h"

namespace tessera::config {
namespace {

Document Parsed(std::string text) {
  return Document::Parse("t.yaml", std::move(text));
}

// The problems of a text, as a person reads them.
std::string Told(std::string text) {
  return Text(Parsed(std::move(text)).problems());
}

TEST(Document, NodesKnowWhereTheyStand) {
  const Document document = Parsed("name: a\nsteps:\n  - {after: 2s}\n  - 'x'\n");
  EXPECT_TRUE(document.ok());
  const Node* steps = document.root().Find("steps");
  ASSERT_NE(steps, nullptr);
  ASSERT_EQ(steps->items.size(), 2u);
  const Node* after = steps->items[0].Find("after");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->scalar, "2s");
  EXPECT_EQ(after->line, 3);
  EXPECT_EQ(after->column, 13);
  EXPECT_FALSE(after->quoted);
  EXPECT_TRUE(steps->items[1].quoted);
  EXPECT_EQ(document.root().Find("name")->Find("x"), nullptr);
}

TEST(Document, AnEmptyTextIsAnEmptyMap) {
  const Document document = Parsed("# nothing\n");
  EXPECT_TRUE(document.ok());
  EXPECT_TRUE(document.root().IsNull());
}

TEST(Document, AMissingValueStandsWhereItsKeyDoes) {
  const Document document = Parsed("a:\nb: 1\n");
  EXPECT_TRUE(document.root().Find("a")->IsNull());
  EXPECT_EQ(document.root().Find("a")->line, 1);
}

TEST(Document, AnAliasIsACopyOfWhatItNames) {
  const Document document = Parsed("a: &x {b: 1}\nc: *x\n");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document.root().Find("c")->Find("b")->scalar, "1");
}

TEST(Document, OfADuplicateKeyTheLastCounts) {
  const Document document = Parsed("a: 1\nb: {c: 1, c: 2}\n");
  EXPECT_EQ(Text(document.problems()),
            "t.yaml:2:11: key 'c' is repeated; the first is on line 2 [config-duplicate]\n"
            "b: {c: 1, c: 2}\n"
            "          ^\n");
  EXPECT_EQ(document.root().Find("b")->Find("c")->scalar, "2");
}

TEST(Document, BadYamlIsToldWithItsPlace) {
  EXPECT_EQ(Told("a: b: c\n"),
            "t.yaml:1:5: not valid YAML: mapping values are not allowed in this context "
            "[config-syntax]\n"
            "a: b: c\n"
            "    ^\n");
  EXPECT_EQ(Told("a: [1\n"),
            "t.yaml:2:1: not valid YAML: did not find expected ',' or ']' while parsing a flow "
            "sequence that begins on line 1 [config-syntax]\n");
}

TEST(Document, TabsAreNamedAsTheCause) {
  EXPECT_EQ(
      Told("a:\n\tb: c\n"),
      "t.yaml:2:1: not valid YAML: found character that cannot start any token while scanning "
      "for the next token; the line is indented with a tab, where YAML wants spaces "
      "[config-syntax]\n"
      "\tb: c\n"
      "^\n");
}

TEST(Document, TextThatBeginsWithAStarIsToldOfQuotes) {
  EXPECT_EQ(Told("a: *A100\n"),
            "t.yaml:1:4: not valid YAML: nothing before it is named 'A100'; put a text that begins "
            "with '*' in quotes [config-syntax]\n"
            "a: *A100\n"
            "   ^\n");
  EXPECT_EQ(Told("a: *\n"),
            "t.yaml:1:5: not valid YAML: did not find expected alphabetic or numeric character "
            "while scanning an alias; put a text that begins with '*' in quotes [config-syntax]\n"
            "a: *\n"
            "    ^\n");
}

TEST(Document, WhatStandsForNothingIsTextInQuotes) {
  const Document document = Parsed("a: ~\nb: null\nc: \"null\"\nd: !!str null\n");
  ASSERT_TRUE(document.ok());
  EXPECT_TRUE(document.root().Find("a")->IsNull());
  EXPECT_TRUE(document.root().Find("b")->IsNull());
  EXPECT_EQ(document.root().Find("c")->scalar, "null");
  EXPECT_EQ(document.root().Find("d")->scalar, "null");
}

TEST(Document, AnAliasIsOfTheLastThatHasItsName) {
  const Document document = Parsed("a: &x 1\nb: &x 2\nc: *x\n");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document.root().Find("c")->scalar, "2");
}

TEST(Document, ControlCharactersAreRefused) {
  EXPECT_EQ(Parsed("a: \x01\n").problems().size(), 1U);
}

TEST(Document, ASecondDocumentIsRefused) {
  EXPECT_EQ(Told("a: 1\n---\nb: 1\n"),
            "t.yaml:2:1: a second document begins here; only the first is read [config-duplicate]\n"
            "---\n"
            "^\n");
}

TEST(Document, DocumentsWithNothingInThemAreNone) {
  for (const char* text :
       {"a: 1\n---\n", "a: 1\n---", "---\na: 1\n--- # the end\n# no more\n",
        "---\n# what this is\n---\na: 1\n", "a: 1\n---\n---\n...\n", "a: 1\n--- ~\n"}) {
    const Document document = Parsed(text);
    EXPECT_EQ(Text(document.problems()), "") << text;
    EXPECT_EQ(document.root().Find("a")->scalar, "1") << text;
  }
  EXPECT_TRUE(Parsed("---\n---\n").root().IsNull());
  EXPECT_EQ(Told("a: 1\n---\n---\n[b\n"),
            "t.yaml:3:1: a second document begins here; only the first is read [config-duplicate]\n"
            "---\n"
            "^\n");
  EXPECT_EQ(Told("a: 1\n---\nb\n"),
            "t.yaml:2:1: a second document begins here; only the first is read [config-duplicate]\n"
            "---\n"
            "^\n");
}

TEST(Document, MergedKeysStandWhereTheyAreMerged) {
  const Document document = Parsed(
      "x: &x {a: 1, b: 1}\n"
      "y: &y {b: 2, c: 2}\n"
      "one: {<<: *x, b: 3}\n"
      "before: {b: 3, <<: *x}\n"
      "several: {<<: [*x, *y]}\n"
      "none: {<<: 3}\n"
      "text: {'<<': {a: 1}}\n");
  EXPECT_EQ(Text(document.problems()), "");
  const auto of = [&](std::string_view map) {
    std::string text;
    for (const Node::Entry& entry : document.root().Find(map)->entries) {
      text += entry.key.scalar + "=" + entry.value.scalar + " ";
    }
    return text;
  };
  EXPECT_EQ(of("one"), "b=3 a=1 ");
  EXPECT_EQ(of("before"), "b=3 a=1 ");
  EXPECT_EQ(of("several"), "a=1 b=1 c=2 ");
  EXPECT_EQ(of("none"), "<<=3 ");
  EXPECT_EQ(of("text"), "<<= ");
}

TEST(Document, AnAliasInsideItselfIsRefused) {
  EXPECT_EQ(Told("a: &a [*a]\n"),
            "t.yaml:1:8: an alias is inside the value that it names [config-syntax]\n"
            "a: &a [*a]\n"
            "       ^\n");
}

TEST(Document, AKeyThatIsNoTextIsRefused) {
  EXPECT_EQ(Told("? [a]\n: b\n"),
            "t.yaml:1:3: a key must be text, not a list or a map [config-syntax]\n"
            "? [a]\n"
            "  ^\n");
}

TEST(Document, DeepNestingIsRefused) {
  EXPECT_EQ(Told(std::string(33, '[') + std::string(33, ']')),
            "t.yaml:1:33: nested deeper than 32 levels [config-syntax]\n" + std::string(33, '[') +
                std::string(33, ']') + "\n" + std::string(32, ' ') + "^\n");
  EXPECT_EQ(Parsed(std::string(100'000, '[')).problems().size(), 1u);
}

TEST(Document, AliasesThatMultiplyAreRefused) {
  const Document document = Parsed(AliasBomb());
  ASSERT_EQ(document.problems().size(), 1u);
  EXPECT_EQ(document.problems()[0].message, "more than 100000 values once aliases are resolved");
}

TEST(Document, LongTextsInAliasesCountAsWell) {
  std::string text = "a: &a " + std::string(500'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 100; ++i) text += ", *a";
  EXPECT_EQ(Parsed(text + "]\n").problems().size(), 1u);
}

TEST(Document, TooLargeATextIsRefused) {
  EXPECT_EQ(Told(std::string((1 << 20) + 1, 'x')),
            "t.yaml: more than 1048576 bytes, the limit of a file [config-syntax]\n");
}

TEST(Document, AZeroByteIsRefused) {
  EXPECT_EQ(Told(std::string("a: \0", 4)),
            "t.yaml: byte 4 (on line 1) is not text in UTF-8 [config-syntax]\n");
}

TEST(Document, BytesThatAreNoUtf8AreRefused) {
  EXPECT_EQ(Told("a: 1\nb: gr\xfc\xdf\n"),
            "t.yaml: byte 11 (on line 2) is not text in UTF-8 [config-syntax]\n");
}

TEST(Document, AFileThatIsNotThereIsAProblem) {
  EXPECT_EQ(Text(Document::Read("/nonexistent/t.yaml").problems()),
            "/nonexistent/t.yaml: there is no such file [config-unreadable]\n");
}

TEST(Document, ADirectoryIsNoFile) {
  EXPECT_EQ(Text(Document::Read("/").problems()),
            "/: cannot be read: / is not a regular file [config-unreadable]\n");
}

TEST(Document, ALinkToNothingIsAnEmptyFile) {
  const Document document = Document::Read("/dev/null");
  EXPECT_TRUE(document.ok());
  EXPECT_TRUE(document.root().IsNull());
}

TEST(Document, ReadsAFile) {
  const std::string directory = *os::MakeTemporaryDirectory("/tmp/tessera-config-");
  ASSERT_TRUE(os::WriteFileAtomically(directory + "/t.yaml", "a: 1\n"));
  const Document document = Document::Read(directory + "/t.yaml");
  EXPECT_EQ(document.name(), directory + "/t.yaml");
  EXPECT_EQ(document.root().Find("a")->scalar, "1");
  EXPECT_TRUE(os::RemoveTree(directory));
}

TEST(Document, UnknownKeysAreToldWithTheClosest) {
  Document document = Parsed("steps: []\nspeeed: 2\nzebra: 1\n");
  document.AllowKeys(document.root(), "", {"steps", "speed"});
  EXPECT_EQ(Text(document.problems()),
            "t.yaml:2:1: unknown key 'speeed'; did you mean 'speed'? [config-unknown-key]\n"
            "speeed: 2\n"
            "^\n"
            "t.yaml:3:1: unknown key 'zebra' [config-unknown-key]\n"
            "zebra: 1\n"
            "^\n");
}

TEST(Document, KeysOfWhatIsNoMapAreToldSo) {
  Document document = Parsed("- a\n");
  document.AllowKeys(document.root(), "", {"steps"});
  document.AllowKeys(document.root().items[0], "steps[0]", {"steps"});
  EXPECT_EQ(Text(document.problems()),
            "t.yaml:1:1: the file takes a map of keys, not a list [config-wrong-type]\n"
            "- a\n"
            "^\n"
            "t.yaml:1:3: steps[0] takes a map of keys, not 'a' [config-wrong-type]\n"
            "- a\n"
            "  ^\n");
}

TEST(Document, ReadsScalarsByType) {
  Document document = Parsed("{t: text, b: true, i: -4, n: 2.5, d: 250ms, c: two}\n");
  const auto at = [&](std::string_view key) -> const Node& { return *document.root().Find(key); };
  const std::vector<std::string> choices = {"one", "two"};
  EXPECT_EQ(document.Text(at("t"), "t"), "text");
  EXPECT_EQ(document.Bool(at("b"), "b"), true);
  EXPECT_EQ(document.Int(at("i"), "i", -10, 10), -4);
  EXPECT_EQ(document.Number(at("n"), "n"), 2.5);
  EXPECT_EQ(document.Time(at("d"), "d"), Duration(250));
  EXPECT_EQ(document.OneOf(at("c"), "c", choices), "two");
  EXPECT_TRUE(document.ok());
}

TEST(Document, ScalarsOfAnotherTypeAreTold) {
  Document document = Parsed("{t: [], b: 'true', i: 11, n: x, d: 5, c: tow, m: {}}\n");
  const auto at = [&](std::string_view key) -> const Node& { return *document.root().Find(key); };
  const std::vector<std::string> choices = {"one", "two"};
  EXPECT_EQ(document.Text(at("t"), "t"), std::nullopt);
  EXPECT_EQ(document.Bool(at("b"), "b"), std::nullopt);
  EXPECT_EQ(document.Int(at("i"), "i", -10, 10), std::nullopt);
  EXPECT_EQ(document.Number(at("n"), "n"), std::nullopt);
  EXPECT_EQ(document.Time(at("d"), "d"), std::nullopt);
  EXPECT_EQ(document.OneOf(at("c"), "c", choices), std::nullopt);
  EXPECT_TRUE(document.List(document.root().Find("m"), "m").empty());
  std::string told;
  for (const Problem& problem : document.problems()) told += problem.message + "\n";
  EXPECT_EQ(told,
            "t takes text, not a list\n"
            "b takes true or false, not the text 'true'\n"
            "i takes a whole number from -10 to 10, not '11'\n"
            "n takes a number, not 'x'\n"
            "d takes a time such as 250ms, 10s, 5m or 2h, not '5'\n"
            "c takes 'one' or 'two', not 'tow'\n"
            "m takes a list, not a map\n");
  EXPECT_EQ(document.problems()[5].suggestion, "two");
}

TEST(Document, AMissingListIsEmpty) {
  Document document = Parsed("a:\n");
  EXPECT_TRUE(document.List(nullptr, "x").empty());
  EXPECT_TRUE(document.List(document.root().Find("a"), "a").empty());
  EXPECT_TRUE(document.ok());
}

}  // namespace
}  // namespace tessera::config
