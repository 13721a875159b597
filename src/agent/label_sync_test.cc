// SPDX-License-Identifier: Apache-2.0
#include "agent/label_sync.h"

#include <gtest/gtest.h>

#include <mutex>

#include "agent/label_file.h"
#include "base/log.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

// What the labellers answer, whichever thread asks.
class Answers {
 public:
  void Set(Result<Labels> answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  Result<Labels> Get() const {
    std::lock_guard lock(mutex_);
    return answer_;
  }

 private:
  mutable std::mutex mutex_;
  Result<Labels> answer_ = Labels{{"x.com/count", "8"}};
};

class FakeLabeller : public Labeller {
 public:
  explicit FakeLabeller(std::shared_ptr<Answers> answers) : answers_(std::move(answers)) {}
  Result<Labels> Read() override { return answers_->Get(); }
  Labels WithoutDevices() override { return {{"x.com/present", "false"}}; }

 private:
  const std::shared_ptr<Answers> answers_;
};

class LabelSyncTest : public testing::Test {
 protected:
  LabelSyncTest() {
    config_.labels.output = config::LabelsOutput::kFile;
    config_.labels.file = directory_ + "/features.d/gfd";
    log::SetSink([this](std::string_view line) { log_ += std::string(line.substr(25)) + "\n"; });
  }
  ~LabelSyncTest() override {
    log::SetSink(nullptr);
    (void)os::RemoveTree(directory_);
  }

  void Begin() {
    Begin([this] { return may_write_; });
  }
  void Begin(
      std::function<bool()> may_write,
      std::function<bool(const Labels&)> to_node = [](const Labels&) { return false; }) {
    sync_ = std::make_unique<LabelSync>(
        LabelSync::Surroundings{.loop = loop_,
                                .may_write = std::move(may_write),
                                .to_node = std::move(to_node),
                                .labellers =
                                    [this](const config::Config&) {
                                      Labellers labellers;
                                      labellers.push_back(std::make_unique<FakeLabeller>(answers_));
                                      return labellers;
                                    },
                                .clock = clock_,
                                .settle = Duration(1)},
        config_);
  }
  std::string OnDisk() { return os::ReadFile(config_.labels.file).value_or("nothing"); }
  // Runs the loop until this holds.
  void Await(const std::function<bool()>& holds) {
    const os::Loop::Handle limit = loop_.After(Duration(20'000), [this] {
      ADD_FAILURE() << "has not come: " << OnDisk() << log_;
      loop_.Stop();
    });
    const os::Loop::Handle look = loop_.Every(Duration(2), [&] {
      if (holds()) loop_.Stop();
    });
    loop_.Run();
  }
  void AwaitFile(const std::string& text) {
    Await([&] { return OnDisk() == text; });
  }
  void AwaitLog(const std::string& text) {
    Await([&] { return log_.find(text) != log_.npos; });
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "sync");
  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  config::Config config_;
  FakeClock clock_;
  bool may_write_ = true;
  std::string log_;
  os::Loop loop_;
  std::unique_ptr<LabelSync> sync_;
};

TEST_F(LabelSyncTest, LabelsAreWrittenAndFollowTheDevices) {
  Begin();
  sync_->Soon();
  AwaitFile("x.com/count=8\n");

  answers_->Set(Labels{{"x.com/count", "7"}});
  sync_->Soon();
  AwaitFile("x.com/count=7\n");
}

TEST_F(LabelSyncTest, TheFileOutlivesTheAgentUnlessItIsToldOtherwise) {
  Begin();
  sync_->Soon();
  AwaitLog("wrote the node's labels");
  sync_.reset();
  EXPECT_EQ(OnDisk(), "x.com/count=8\n");

  config_.labels.remove_on_exit = true;
  answers_->Set(Labels{{"x.com/count", "7"}});
  log_.clear();
  Begin();
  sync_->Soon();
  AwaitLog("wrote the node's labels");
  sync_.reset();
  EXPECT_EQ(OnDisk(), "nothing");
}

TEST_F(LabelSyncTest, WhatCannotBeReadStaysAsItWasAndIsToldOnce) {
  Begin();
  sync_->Soon();
  AwaitFile("x.com/count=8\n");

  answers_->Set(Fail(Reason::kDriverMissing, "there is no driver"));
  sync_->Soon();
  AwaitLog("the node's labels cannot be read, those told stay for a while");
  EXPECT_EQ(OnDisk(), "x.com/count=8\n");

  clock_.Advance(LabelSync::kGrace);
  log_.clear();
  sync_->Soon();
  AwaitFile("x.com/present=false\n");
  AwaitLog("wrote the node's labels");
  EXPECT_EQ(log_.find("cannot be read"), log_.npos);

  answers_->Set(Labels{{"x.com/count", "8"}});
  sync_->Soon();
  AwaitFile("x.com/count=8\n");
}

TEST_F(LabelSyncTest, AnInstanceThatMayNotWriteDoesNotUntilItMay) {
  may_write_ = false;
  int asked = 0;
  config_.labels.output = config::LabelsOutput::kFile;
  Begin([&] {
    ++asked;
    return may_write_;
  });
  sync_->Soon();
  Await([&] { return asked > 0; });
  EXPECT_EQ(OnDisk(), "nothing");

  may_write_ = true;
  sync_->Soon();
  AwaitFile("x.com/count=8\n");
}

TEST_F(LabelSyncTest, AutoWritesTheFileOnlyWhereItsDirectoryIs) {
  config_.labels.output = config::LabelsOutput::kAuto;
  Begin();
  sync_->Soon();
  AwaitLog("the node is not labelled");
  EXPECT_EQ(OnDisk(), "nothing");

  ASSERT_TRUE(os::MakeDirectories(directory_ + "/features.d"));
  sync_->Soon();
  AwaitFile("x.com/count=8\n");
}

TEST_F(LabelSyncTest, LabelsGoToTheNodeOrToTheFileAndNeverToBoth) {
  std::vector<Labels> told;
  config_.labels.output = config::LabelsOutput::kAuto;
  Begin([] { return true; },
        [&told](const Labels& labels) {
          told.push_back(labels);
          return true;
        });
  sync_->Soon();
  Await([&] { return !told.empty(); });
  EXPECT_EQ(told, (std::vector<Labels>{{{"x.com/count", "8"}}}));
  EXPECT_EQ(OnDisk(), "nothing");

  ASSERT_TRUE(os::MakeDirectories(directory_ + "/features.d"));
  sync_->Soon();
  AwaitFile("x.com/count=8\n");
  EXPECT_EQ(told, (std::vector<Labels>{{{"x.com/count", "8"}}, {}}));

  ASSERT_TRUE(os::RemoveTree(directory_ + "/features.d"));
  sync_->Soon();
  Await([&] { return told.size() == 3; });
  EXPECT_EQ(told.back(), (Labels{{"x.com/count", "8"}}));

  config_.labels.output = config::LabelsOutput::kOff;
  sync_->Apply(config_);
  EXPECT_EQ(told.size(), 4U);
  EXPECT_EQ(told.back(), Labels());
  sync_->Apply(config_);
  EXPECT_EQ(told.size(), 4U);
}

TEST_F(LabelSyncTest, AFileThatIsNoLongerWantedIsRemoved) {
  Begin();
  sync_->Soon();
  AwaitLog("wrote the node's labels");

  config::Config elsewhere = config_;
  elsewhere.labels.file = directory_ + "/other/gfd";
  sync_->Apply(elsewhere);
  EXPECT_EQ(OnDisk(), "nothing");
  sync_->Soon();
  Await([&] { return os::Exists(elsewhere.labels.file); });

  sync_->Apply(elsewhere);
  elsewhere.labels.output = config::LabelsOutput::kOff;
  sync_->Apply(elsewhere);
  EXPECT_FALSE(os::Exists(elsewhere.labels.file));
}

TEST_F(LabelSyncTest, AFailureToWriteIsToldOnceAndTriedAgain) {
  ASSERT_TRUE(os::MakeDirectories(config_.labels.file));
  Begin();
  sync_->Soon();
  AwaitLog("cannot write the node's labels");

  ASSERT_TRUE(os::RemoveTree(config_.labels.file));
  sync_->Soon();
  AwaitFile("x.com/count=8\n");
}

}  // namespace
}  // namespace tessera::agent
