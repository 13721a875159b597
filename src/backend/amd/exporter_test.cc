// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/exporter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "base/captured_log_test.h"
#include "base/clock.h"
#include "os/files.h"

namespace tessera::amd {
namespace {

// A field with a text, as protobuf writes it.
std::string Field(int number, const std::string& text) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(text.size())} + text;
}
std::string State(const std::string& device, const std::string& health) {
  return Field(1, Field(1, "0") + Field(3, health) + Field(4, "default/job") + Field(5, device));
}

bool Says(const ExporterWords& words, const std::string& address, unsigned partition,
          const std::vector<std::string>& others = {}) {
  return SaysUnhealthy(words, address, partition,
                       [&](std::string_view name) { return std::ranges::count(others, name) > 0; });
}

TEST(ExporterWordsTest, OnlyAnExplicitWordIsUnhealthy) {
  EXPECT_EQ(
      ParseExporterWords(State("0000:05:00.0", "healthy") + State("0000:27:00.0", "Unhealthy") +
                         State("0000:C7:00.0", "unhealthy") + State("0000:e5:00.0", "unknown")),
      (ExporterWords{{"0000:05:00.0", false},
                     {"0000:27:00.0", true},
                     {"0000:c7:00.0", true},
                     {"0000:e5:00.0", false}}));
}

TEST(ExporterWordsTest, AGpuWithoutAnAddressOrAWordIsPassedOver) {
  EXPECT_EQ(ParseExporterWords(Field(1, Field(3, "unhealthy")) + Field(1, Field(5, "a"))),
            (ExporterWords{{"a", false}}));
  EXPECT_EQ(ParseExporterWords(""), ExporterWords());
}

TEST(ExporterWordsTest, FieldsOfLaterVersionsArePassedOver) {
  const std::string numbers("\x30\x96\x01\x39________\x3d____", 17);
  EXPECT_EQ(ParseExporterWords(numbers + State("a", "unhealthy") + Field(9, "new")),
            (ExporterWords{{"a", true}}));
}

TEST(ExporterWordsTest, OtherBytesAreNone) {
  const std::string state = State("a", "healthy");
  for (const std::string& bytes :
       {state.substr(0, state.size() - 1), std::string("\x0a\x7f", 2), std::string("\x0b", 1),
        std::string(11, '\xff'), Field(1, std::string("\x1a\x05", 2))}) {
    EXPECT_EQ(ParseExporterWords(bytes), std::nullopt);
  }
}

TEST(ExporterWordsTest, APartitionIsNamedByItsNumberInPlaceOfTheFunction) {
  const ExporterWords words = {
      {"0000:05:00.0", false}, {"0000:05:00.3", true}, {"0000:05:00.4", false}};
  EXPECT_TRUE(Says(words, "0000:05:00.0", 3));
  EXPECT_FALSE(Says(words, "0000:05:00.0", 0));
  EXPECT_FALSE(Says(words, "0000:05:00.0", 4));
  EXPECT_FALSE(Says(words, "0000:27:00.0", 3));
}

TEST(ExporterWordsTest, AGpuWithoutNamedPartitionsSpeaksForAll) {
  const ExporterWords words = {{"0000:05:00.0", true}, {"0000:27:00.0", false}};
  EXPECT_TRUE(Says(words, "0000:05:00.0", 5));
  EXPECT_FALSE(Says(words, "0000:27:00.0", 5));
}

TEST(ExporterWordsTest, APartitionThatIsNotNamedIsNotUnhealthy) {
  EXPECT_FALSE(Says({{"0000:05:00.0", true}, {"0000:05:00.1", false}}, "0000:05:00.0", 2));
}

TEST(ExporterWordsTest, AnotherGpusAddressIsNoPartition) {
  const ExporterWords words = {{"0000:05:00.0", false}, {"0000:05:00.1", true}};
  EXPECT_FALSE(Says(words, "0000:05:00.0", 1, {"0000:05:00.1"}));
  EXPECT_TRUE(Says(words, "0000:05:00.1", 0, {"0000:05:00.1"}));
}

Result<std::string> AnswerOld(const std::string&, const std::string& method, const std::string&,
                              Duration) {
  if (method != "/metricssvc.MetricsService/List") return Fail(Reason::kNotFound, "no such method");
  return State("a", "unhealthy");
}
Result<std::string> AnswerNothing(const std::string&, const std::string&, const std::string&,
                                  Duration) {
  return Fail(Reason::kNotFound, "no such method");
}
Result<std::string> AnswerNonsense(const std::string&, const std::string&, const std::string&,
                                   Duration) {
  return "\x0b";
}

TEST(AskExporterTest, AnOlderExporterIsAskedByItsPackage) {
  EXPECT_EQ(AskExporter(AnswerOld, "/s"), (ExporterWords{{"a", true}}));
}

TEST(AskExporterTest, AnotherServerIsRefused) {
  EXPECT_EQ(AskExporter(AnswerNothing, "/s").error(),
            (Error{Reason::kInvalid, "/s is not of a metrics exporter of AMD's"}));
  EXPECT_EQ(AskExporter(AnswerNonsense, "/s").error(),
            (Error{Reason::kInvalid, "/s answers what is no list of GPUs"}));
}

class ExporterWatchTest : public testing::Test {
 protected:
  ~ExporterWatchTest() override { (void)os::RemoveTree(directory_); }

  void SetUp() override { ASSERT_TRUE(os::ReplaceFile(socket_, "")); }
  Result<ExporterWords> Answer() {
    const MutexLock lock(mutex_);
    ++asked_;
    return answer_;
  }
  void Set(Result<ExporterWords> answer) {
    const MutexLock lock(mutex_);
    answer_ = std::move(answer);
  }
  int asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }
  // Asks once more, and waits until the question has ended.
  void Ask() {
    const int before = asked();
    clock_.Advance(ExporterWatch::kEvery);
    const Steady end = SystemClock().Now() + Duration(10'000);
    while (asked() == before && SystemClock().Now() < end) {
      watch_.AskSoon();
      std::this_thread::yield();
    }
    EXPECT_GT(asked(), before);
  }
  void Await(const ExporterWords& words) {
    const Steady end = SystemClock().Now() + Duration(10'000);
    while (*watch_.words() != words && SystemClock().Now() < end) std::this_thread::yield();
    EXPECT_EQ(*watch_.words(), words);
  }

  const std::string directory_ = os::MakeTemporaryDirectory(testing::TempDir() + "watch").value();
  const std::string socket_ = directory_ + "/s";
  const ExporterWords words_ = {{"a", true}};
  FakeClock clock_;
  Mutex mutex_;
  Result<ExporterWords> answer_ = ExporterWords();
  int asked_ = 0;
  ExporterWatch watch_{socket_, [this](const std::string&) { return Answer(); }, clock_};
};

TEST_F(ExporterWatchTest, ItsLastWordsAreKnown) {
  EXPECT_EQ(*watch_.words(), ExporterWords());
  Set(words_);
  Ask();
  Await(words_);
}

TEST_F(ExporterWatchTest, WordsHoldWhileItIsSilent) {
  Set(words_);
  Ask();
  Await(words_);
  Set(Fail(Reason::kTimedOut, "no answer"));
  clock_.Advance(ExporterWatch::kHolds);
  Ask();
  Await(words_);
}

TEST_F(ExporterWatchTest, WordsDoNotHoldForeverWithoutItsSocket) {
  Set(words_);
  Ask();
  Await(words_);
  ASSERT_TRUE(os::RemoveFile(socket_));
  clock_.Advance(ExporterWatch::kHolds);
  watch_.AskSoon();
  EXPECT_EQ(*watch_.words(), words_);
  clock_.Advance(Duration(1));
  EXPECT_EQ(*watch_.words(), ExporterWords());
}

TEST_F(ExporterWatchTest, TheFirstWordsCanBeWaitedFor) {
  watch_.AwaitFirst();  // nothing was asked
  Set(words_);
  watch_.AskSoon();
  const Steady end = SystemClock().Now() + Duration(10'000);
  while (watch_.words()->empty() && SystemClock().Now() < end) watch_.AwaitFirst();
  EXPECT_EQ(*watch_.words(), words_);
}

TEST_F(ExporterWatchTest, AnExporterThatHangsIsWaitedForOnce) {
  std::promise<void> answers;
  ExporterWatch hangs(
      socket_,
      [end = answers.get_future().share()](const std::string&) {
        end.wait();
        return ExporterWords();
      },
      clock_);
  hangs.AskSoon();
  hangs.AwaitFirst();
  const Steady begin = SystemClock().Now();
  hangs.AwaitFirst();
  EXPECT_LT(SystemClock().Now() - begin, ExporterWatch::kFirst);
  answers.set_value();
}

TEST_F(ExporterWatchTest, TroubleIsLoggedOnceAndSoIsItsEnd) {
  CapturedLog log;
  ASSERT_TRUE(os::RemoveFile(socket_));
  for (int i = 0; i < 3; ++i) {
    watch_.AskSoon();
    clock_.Advance(ExporterWatch::kEvery);
  }
  EXPECT_EQ(log.Take(), "INFO AMD's metrics exporter is not there socket=" + socket_ + "\n");
  ASSERT_TRUE(os::ReplaceFile(socket_, ""));
  for (int i = 0; i < 3; ++i) Ask();
  watch_.AskSoon();
  EXPECT_EQ(log.Take(), "INFO AMD's metrics exporter answers socket=" + socket_ + "\n");
  Set(Fail(Reason::kTimedOut, "no answer"));
  for (int i = 0; i < 3; ++i) Ask();
  watch_.AskSoon();
  EXPECT_EQ(log.Take(),
            "WARN AMD's metrics exporter does not answer reason=timed-out error=\"no answer\" "
            "advice=\"try again; if it repeats, see whether the other side hangs\"\n");
}

TEST_F(ExporterWatchTest, ASocketThatIsNotThereIsNotAsked) {
  ASSERT_TRUE(os::RemoveFile(socket_));
  watch_.AskSoon();
  EXPECT_EQ(asked(), 0);
  ASSERT_TRUE(os::ReplaceFile(socket_, ""));
  Set(words_);
  Ask();
  Await(words_);
}

}  // namespace
}  // namespace tessera::amd
