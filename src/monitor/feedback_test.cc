// SPDX-License-Identifier: Apache-2.0
#include "monitor/feedback.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tessera::monitor {
namespace {

using region::MonitorWords;
using Writes = std::vector<FeedbackWrite>;

// Containers whose words change as the library and the feedback write them.
class FeedbackTest : public testing::Test {
 protected:
  Container& Add(const std::string& file, int priority, std::vector<std::string> devices) {
    Container container{.file = file};
    container.region.priority = priority;
    for (std::string& device : devices) {
      container.region.devices.push_back({.uuid = std::move(device)});
    }
    containers_.push_back(std::move(container));
    return containers_.back();
  }
  MonitorWords& Words(size_t i) { return containers_[i].region.words; }
  // As the library at a launch, unless it waits.
  void Launch(size_t i) {
    if (Words(i).recent >= 0) Words(i).recent = 2;
  }
  // One reading, and the writes that follow.
  void Pass() {
    now_ += Duration(1'000);
    writes_ = feedback_.Decide(containers_, now_);
    for (const FeedbackWrite& write : writes_) {
      for (Container& container : containers_) {
        if (container.file == write.file) container.region.words = write.words;
      }
    }
  }

  Feedback feedback_{FeedbackMode::kAuto};
  std::vector<Container> containers_;
  Writes writes_;
  Steady now_{};
};

TEST_F(FeedbackTest, AContainerAloneMayUseMoreThanItsShare) {
  Add("a", 1, {"GPU-1"});
  Launch(0);
  Pass();
  EXPECT_EQ(writes_, (Writes{{"a", {.recent = 1, .limited = 0}}}));
}

TEST_F(FeedbackTest, TwoOfOnePriorityHaveTheirShares) {
  Add("a", 1, {"GPU-1"});
  Add("b", 1, {"GPU-1"});
  Launch(0);
  Launch(1);
  Pass();
  EXPECT_EQ(Words(0), (MonitorWords{.recent = 1, .limited = 1}));
  EXPECT_EQ(Words(1), (MonitorWords{.recent = 1, .limited = 1}));
}

TEST_F(FeedbackTest, AContainerWaitsWhileOneOfHigherPriorityLaunchesOnItsDevice) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Launch(0);
  Launch(1);
  Pass();
  EXPECT_EQ(Words(1), (MonitorWords{.recent = -1, .limited = 1}));
  for (int i = 0; i < 3; ++i) {
    Launch(0);
    Pass();
    EXPECT_EQ(Words(1).recent, -1);
    EXPECT_EQ(Words(0), (MonitorWords{.recent = 1, .limited = 0}));
  }
}

TEST_F(FeedbackTest, ItGoesOnOnceTheOtherHasRestedForAMoment) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Launch(0);
  Pass();
  EXPECT_EQ(Words(1).recent, -1);
  Pass();
  EXPECT_EQ(Words(1).recent, -1) << "it may only pause";
  Pass();
  EXPECT_EQ(Words(1), (MonitorWords{.recent = 1, .limited = 0})) << "0 may count as a block";
}

TEST_F(FeedbackTest, OnAnotherDeviceNobodyWaits) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-2"});
  Launch(0);
  Launch(1);
  Pass();
  EXPECT_EQ(Words(1), (MonitorWords{.recent = 1, .limited = 0}));
}

TEST_F(FeedbackTest, OfSeveralDevicesThoseThatWereChargedCount) {
  Add("high", 0, {"GPU-1", "GPU-2"}).got = {0.0, 12.5};
  Add("low on 1", 1, {"GPU-1"});
  Add("low on 2", 1, {"GPU-2"});
  Launch(0);
  Pass();
  EXPECT_EQ(Words(1).recent, 0);
  EXPECT_EQ(Words(2).recent, -1);
}

TEST_F(FeedbackTest, ADeviceThatIsNotGrantedDoesNotCountHoweverItsRegionNamesIt) {
  Add("liar", 0, {"GPU-1", "GPU-2"}).parts = {{"GPU-1", 1024, 30}};
  Add("low", 1, {"GPU-2"});
  Launch(0);
  Launch(1);
  Pass();
  EXPECT_EQ(Words(1), (MonitorWords{.recent = 1, .limited = 0}));
}

TEST_F(FeedbackTest, AWordThatCannotBeIsNoOverflow) {
  Add("a", 1, {"GPU-1"});
  Words(0).recent = INT32_MIN;
  Pass();
  EXPECT_EQ(Words(0).recent, 1);
}

TEST_F(FeedbackTest, ABlockThatTheLibraryTookBackIsWrittenAgain) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Launch(0);
  Pass();
  Words(1).recent = 0;
  Launch(0);
  Pass();
  EXPECT_EQ(Words(1).recent, -1);
  EXPECT_FALSE(feedback_.is_foreign(now_));
}

TEST_F(FeedbackTest, ItIsOffWhileAnotherMonitorWritesTheWords) {
  Add("a", 0, {"GPU-1"});
  Add("b", 1, {"GPU-1"});
  Pass();
  Launch(0);
  Launch(1);
  Pass();
  Words(0) = {.recent = 0, .limited = 1};  // HAMi's monitor counts down as well
  Words(1).limited = 0;
  Pass();
  EXPECT_TRUE(feedback_.is_foreign(now_));
  EXPECT_EQ(writes_, Writes());
  Launch(0);
  Pass();
  EXPECT_EQ(writes_, Writes());
  now_ += Feedback::kForeign;
  Launch(0);
  Pass();
  EXPECT_EQ(Words(1).recent, -1);
}

TEST_F(FeedbackTest, OneContainerOfThreeCannotEndItForTheOthers) {
  Add("liar", 1, {"GPU-1"});
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Pass();
  Words(0) = {.recent = 7, .limited = 5};
  Launch(1);
  Pass();
  EXPECT_EQ(Words(2).recent, -1);
  EXPECT_EQ(Words(0).recent, -1);
}

TEST_F(FeedbackTest, SwitchedOnItDoesNotYieldAndSwitchedOffItWritesNothing) {
  Add("a", 0, {"GPU-1"});
  feedback_ = Feedback(FeedbackMode::kOn);
  Pass();
  Words(0) = {.recent = 7, .limited = 5};
  Pass();
  EXPECT_EQ(Words(0), (MonitorWords{.recent = 6, .limited = 0}));
  feedback_ = Feedback(FeedbackMode::kOff);
  Pass();
  EXPECT_EQ(writes_, Writes());
}

TEST_F(FeedbackTest, ANegativePriorityHasNoPart) {
  Add("high", 0, {"GPU-1"});
  Add("none", -1, {"GPU-1"});
  Launch(0);
  Launch(1);
  Pass();
  EXPECT_EQ(Words(1), (MonitorWords{.recent = 2, .limited = 1}));
}

TEST_F(FeedbackTest, AtTheEndNoContainerWaitsAndEachHasItsShare) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Launch(0);
  Pass();
  EXPECT_EQ(feedback_.End(containers_),
            (Writes{{"high", {.recent = 1, .limited = 1}}, {"low", {.recent = 1, .limited = 1}}}));
}

TEST_F(FeedbackTest, AtTheEndABlockThatNoReadingShowsYetIsLiftedToo) {
  Add("high", 0, {"GPU-1"});
  Add("low", 1, {"GPU-1"});
  Launch(0);
  const std::vector<Container> read = containers_;
  Pass();
  EXPECT_EQ(feedback_.End(read),
            (Writes{{"high", {.recent = 2, .limited = 1}}, {"low", {.recent = 1, .limited = 1}}}));
}

}  // namespace
}  // namespace tessera::monitor
