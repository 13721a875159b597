// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/quote.h"

namespace tessera::log {
namespace {

constexpr size_t kTimeLength = std::string_view("2026-11-20T18:00:00.123Z").size();

class LogTest : public testing::Test {
 protected:
  LogTest() {
    SetSink([this](std::string_view line) { lines_.emplace_back(line); });
    Configure(Level::kInfo, Format::kText);
  }
  ~LogTest() override {
    SetSink(nullptr);
    Configure(Level::kInfo, Format::kText);
  }

  // The logged lines without times.
  std::vector<std::string> Text() const {
    std::vector<std::string> text;
    for (const std::string& line : lines_) text.push_back(line.substr(kTimeLength + 1));
    return text;
  }

  std::vector<std::string> lines_;
};

using Lines = std::vector<std::string>;

TEST_F(LogTest, ALineHasLevelMessageAndFields) {
  Info("registered", {{"resource", "dummy.com/npu"}, {"devices", 64}});

  EXPECT_EQ(Text(), Lines{"INFO registered resource=dummy.com/npu devices=64"});
}

TEST_F(LogTest, ValuesThatCouldBeMisreadAreQuoted) {
  Warn("odd", {{"a", "x y"}, {"b", ""}, {"c", "k=v"}, {"d", "say \"hi\"\n"}, {"e", true}});

  EXPECT_EQ(Text(), Lines{R"(WARN odd a="x y" b="" c="k=v" d="say \"hi\"\n" e=true)"});
}

TEST_F(LogTest, AnErrorBringsReasonMessageAndAdvice) {
  LogError("scan failed", Error{Reason::kIo, "disk full"}, {{"resource", "x.y/z"}});

  EXPECT_EQ(Text(), Lines{"ERROR scan failed resource=x.y/z reason=io error=\"disk full\" "
                          "advice=\"look at the path and the system error named\""});
}

TEST_F(LogTest, LevelsBelowTheConfiguredOneAreLeftOut) {
  Debug("one");
  Configure(Level::kWarn, Format::kText);
  Info("two");
  Warn("three");
  Configure(Level::kOff, Format::kText);
  LogError("four");

  EXPECT_EQ(Text(), Lines{"WARN three"});
}

TEST_F(LogTest, JsonFormIsOneObjectALine) {
  Configure(Level::kDebug, Format::kJson);

  Debug("say \"hi\"", {{"n", 3}, {"path", "C:\\x\ty"}});

  ASSERT_EQ(lines_.size(), 1U);
  const std::string head = "{\"time\":\"";
  EXPECT_EQ(lines_[0].substr(0, head.size()), head);
  EXPECT_EQ(lines_[0].substr(head.size() + kTimeLength),
            R"(","level":"debug","message":"say \"hi\"","n":"3","path":"C:\\x\ty"})");
}

TEST_F(LogTest, TheFourthOfEqualLinesIsHeldBack) {
  for (int i = 0; i < 5; ++i) Warn("slow", {{"device", 7}});
  Warn("slow", {{"device", 8}});
  Info("slow", {{"device", 8}});

  EXPECT_EQ(Text(), (Lines{"WARN slow device=7", "WARN slow device=7", "WARN slow device=7",
                           "WARN slow device=8", "INFO slow device=8"}));
}

TEST_F(LogTest, LinesOfSeveralThreadsStayWhole) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) Info("event", {{"thread", t}, {"number", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();

  ASSERT_EQ(lines_.size(), 200U);
  for (const std::string& line : Text())
    EXPECT_EQ(line.substr(0, 18), "INFO event thread=") << line;
}

TEST(Log, NobodyWaitsForALineThatIsBeingWritten) {
  std::promise<void> writing;
  std::promise<void> go_on;
  std::vector<std::string> lines;
  SetSink([&](std::string_view line) {
    lines.emplace_back(line.substr(kTimeLength + 1));
    if (lines.size() > 1) return;
    writing.set_value();
    go_on.get_future().wait();
  });
  std::thread first([] { Info("first"); });
  writing.get_future().wait();

  Info("second");
  Info("third");
  go_on.set_value();
  first.join();
  SetSink(nullptr);

  EXPECT_EQ(lines, (Lines{"INFO first", "INFO second", "INFO third"}));
}

TEST(Quote, EscapesWhatJsonForbids) {
  EXPECT_EQ(Quote("a\"b\\c\n\r\t\x01\x7f/"), R"("a\"b\\c\n\r\t\u0001\u007f/")");
  EXPECT_EQ(Quote(""), "\"\"");
}

TEST(Quote, LeavesUtf8AsItIs) {
  EXPECT_EQ(Quote("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

TEST(Quote, ReplacesBytesThatAreNotUtf8) {
  constexpr std::string_view kBroken[] = {"\xFF",     "\xC3",         "\xC0\x80",
                                          "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                          "\x80",     "\xE0\x80\x80"};
  for (std::string_view text : kBroken) {
    std::string expected;
    for (size_t i = 0; i < text.size(); ++i) expected += "\xEF\xBF\xBD";
    EXPECT_EQ(Quote(text), "\"" + expected + "\"");
  }
}

}  // namespace
}  // namespace tessera::log
