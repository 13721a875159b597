// SPDX-License-Identifier: Apache-2.0
#include "card/report.h"

#include <gtest/gtest.h>

namespace tessera::card {
namespace {

constexpr char kRows[] =
    R"({"part":"memory","kind":"fact","name":"context","value":"544210944","note":"bytes"}
{"part":"costs","kind":"figure","name":"alloc","unit":"us","samples":[3,1,2]}
{"part":"time","kind":"trouble","name":"50 ms","value":"cuInit: 3"}
{"part":"memory","kind":"part","name":"memory","value":"ended","seconds":12.5}
)";

Row Fact(const std::string& name, const std::string& value) {
  return {.kind = "fact", .part = "p", .name = name, .value = value, .samples = {}};
}
Row Figure(const std::string& name, std::vector<double> samples) {
  return {.kind = "figure",
          .part = "p",
          .name = name,
          .value = "",
          .unit = "us",
          .samples = std::move(samples)};
}

TEST(ReportTest, EveryKindOfRowIsRead) {
  const std::vector<Row> expected = {{"fact", "memory", "context", "544210944", "", {}, "bytes"},
                                     {"figure", "costs", "alloc", "", "us", {3, 1, 2}, ""},
                                     {"trouble", "time", "50 ms", "cuInit: 3", "", {}, ""},
                                     {"part", "memory", "memory", "ended", "", {12.5}, ""}};

  const Report report = ReadRows(kRows, "today");

  EXPECT_EQ(report.rows, expected);
  EXPECT_EQ(report.unread, 0);
}

TEST(ReportTest, ATornLineCostsNoneBehindItOnTheSameLine) {
  const Report report = ReadRows(
      R"({"part":"memory","ki{"part":"p","kind":"fact","name":"a","value":"1"}
what a program printed
{"part":"p","kind":"fact","name":"b","value":"2"}
{"part":"p","kind":"fact","na)",
      "");

  EXPECT_EQ(report.rows, (std::vector<Row>{Fact("a", "1"), Fact("b", "2")}));
  EXPECT_EQ(report.unread, 3);
}

TEST(ReportTest, SamplesOfOneFigureAreOneRow) {
  const Report report =
      ReadRows(R"({"part":"p","kind":"figure","name":"a","unit":"us","samples":[1,2]}
{"part":"p","kind":"figure","name":"a","unit":"us","samples":[3]}
{"part":"p","kind":"figure","name":"a","unit":"ms","samples":[4]}
)",
               "");

  ASSERT_EQ(report.rows.size(), 2);
  EXPECT_EQ(report.rows[0].samples, (std::vector<double>{1, 2, 3}));
}

TEST(ReportTest, PercentilesAreSamples) {
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);

  EXPECT_EQ(Percentile(hundred, 0.5), 50);
  EXPECT_EQ(Percentile(hundred, 0.99), 99);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

TEST(ReportTest, WhatIsWrittenIsReadAgain) {
  const Report report = ReadRows(kRows, "2026-11-29 03:00:00Z");

  const std::string text = Json(report);
  const Report again = ReadJson(text);

  EXPECT_NE(
      text.find(R"("name":"alloc","unit":"us","n":3,"p50":2E0,"p99":3E0,"samples":[3E0,1E0,2E0])"),
      std::string::npos)
      << text;
  EXPECT_EQ(again.date, report.date);
  EXPECT_EQ(again.rows.size(), report.rows.size());
  EXPECT_EQ(Compare(report, again), "nothing differs\n");
  EXPECT_EQ(Json(again), text);
}

TEST(ReportTest, ManySamplesAreThinnedUntilTheFileIsSmall) {
  Report report;
  for (int i = 0; i < 8; ++i) {
    report.rows.push_back(Figure(std::to_string(i), std::vector<double>(50'000, 1 / 3.0)));
  }

  const std::string text = Json(report);

  EXPECT_LE(text.size(), kMostBytes);
  EXPECT_NE(text.find(R"("n":50000,)"), std::string::npos);
}

TEST(ReportTest, TablesHaveTheStateOfEachPart) {
  EXPECT_EQ(Markdown(ReadRows(kRows, "today")), R"(# A run of today

| part | how it ended | seconds | troubles |
| --- | --- | --- | --- |
| memory | ended | 12.5 | 0 |

## memory

### Facts

| what | answer | note |
| --- | --- | --- |
| context | 544210944 | bytes |

## costs

### Figures

| what | n | p50 | p99 | unit | note |
| --- | --- | --- | --- | --- | --- |
| alloc | 3 | 2 | 3 | us |  |

## time

### Troubles

| what | answer | note |
| --- | --- | --- |
| 50 ms | cuInit: 3 |  |
)");
}

TEST(ReportTest, TwoReportsAreComparedRowByRow) {
  const Report a{.date = "",
                 .rows = {Fact("same", "1"), Fact("other", "a|b"), Fact("here", "x"),
                          Figure("alloc", {4, 4, 9}), Figure("free", {2})}};
  const Report b{.date = "",
                 .rows = {Fact("same", "1"), Fact("other", "c"), Figure("alloc", {1, 2, 3}),
                          Figure("free", {2}), Fact("there", "y")}};

  EXPECT_EQ(Compare(a, b), R"(### What differs

| part | what | first | second |
| --- | --- | --- | --- |
| p | other | a\|b | c |

### Figures, by their medians

| part | what | first | second | ratio |
| --- | --- | --- | --- | --- |
| p | alloc | 4 us | 2 us | 2 |

### Only in the first

| part | what | answer |
| --- | --- | --- |
| p | here | x |

### Only in the second

| part | what | answer |
| --- | --- | --- |
| p | there | y |
)");
}

TEST(ReportTest, AFactAndAFigureOfOneNameAreApart) {
  const Report a{.date = "", .rows = {Fact("call", "0"), Figure("call", {4})}};
  const Report b{.date = "", .rows = {Fact("call", "0"), Figure("call", {2})}};

  EXPECT_EQ(Compare(a, b), R"(### Figures, by their medians

| part | what | first | second | ratio |
| --- | --- | --- | --- | --- |
| p | call | 4 us | 2 us | 2 |
)");
}

TEST(ReportTest, WhatTheRunnerSaysOfTheMachineIsNotCompared) {
  const Report a = ReadRows(R"({"part":"run","kind":"fact","name":"kernel","value":"6.1"})", "");

  EXPECT_EQ(Compare(a, {}), "nothing differs\n");
}

}  // namespace
}  // namespace tessera::card
