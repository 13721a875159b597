// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/show.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

// Records its calls. The show's thread writes it; read after Finish.
struct Record {
  std::vector<std::string> events;
  bool ended = false;
};

class RecordingOutput : public Output {
 public:
  RecordingOutput(Record& record, bool read) : record_(record), read_(read) {}
  bool Happened(const Event& event) override {
    record_.events.push_back(event.text);
    return read_;
  }
  bool Draw(const Picture&) override { return true; }
  void End(const Summary&) override { record_.ended = true; }

 private:
  Record& record_;
  const bool read_;
};

class ShowTest : public ::testing::Test {
 protected:
  std::unique_ptr<Output> Recording(bool read = true) {
    return std::make_unique<RecordingOutput>(record_, read);
  }
  bool Interrupted() { return interruption_.WaitUntil(SystemClock().Now() + Duration(10'000)); }
  Record record_;
  Interruption interruption_;
};

TEST_F(ShowTest, WhatIsObservedIsShownInOrder) {
  Show show(Recording(), {}, interruption_);
  show.Observe(Saw(Caption{"first"}));
  show.Observe(Saw(Caption{"second"}));
  EXPECT_TRUE(show.Finish(Duration(1'000)).good());
  EXPECT_EQ(record_.events, (std::vector<std::string>{"first", "second"}));
  EXPECT_TRUE(record_.ended);
}

TEST_F(ShowTest, BrokenLawIsShownAndCounted) {
  Show show(Recording(), {}, interruption_);
  show.Observe(Saw(WithEnv()));
  show.Observe(Saw(Admitted("a", {"3"})));
  show.Observe(Saw(Admitted("b", {"3"})));
  const Summary summary = show.Finish(Duration(1'000));
  EXPECT_FALSE(summary.good());
  EXPECT_EQ(summary.wrong_grants, 1);
  EXPECT_EQ(record_.events.back(),
            "LAW BROKEN: no share is granted to two running containers: b main was granted "
            "dummy.com/npu 3, which a main holds");
}

TEST_F(ShowTest, SignalIsTakenForAnInterruption) {
  Show show(Recording(), {}, interruption_);
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(Interrupted());
  EXPECT_EQ(interruption_.signal(), SIGTERM);
}

TEST_F(ShowTest, NobodyReadingIsAnInterruption) {
  Show show(Recording(false), {}, interruption_);
  show.Observe(Saw(Caption{"to nobody"}));
  EXPECT_TRUE(Interrupted());
  EXPECT_EQ(interruption_.signal(), SIGPIPE);
}

}  // namespace
}  // namespace tessera::demo
