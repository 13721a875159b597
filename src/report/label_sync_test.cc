// SPDX-License-Identifier: Apache-2.0
#include "report/label_sync.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>

#include "base/log.h"
#include "os/files.h"
#include "report/label_file.h"

namespace tessera {
namespace {

// The labellers' answers; any thread.
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

// Blocks a thread until it is opened, or a time is over.
class Gate {
 public:
  void Open() { opened_.set_value(); }
  void Wait() const { (void)open_.wait_for(std::chrono::seconds(20)); }

 private:
  std::promise<void> opened_;
  const std::shared_future<void> open_ = opened_.get_future().share();
};

// A log of the labellers' events; any thread.
class Diary {
 public:
  void Add(const std::string& what) {
    std::lock_guard lock(mutex_);
    all_.push_back(what);
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

// Reads and ends only when its gate is open.
class SlowLabeller : public Labeller {
 public:
  SlowLabeller(std::string name, const Gate& gate, Diary& diary)
      : name_(std::move(name)), gate_(gate), diary_(diary) {
    diary_.Add(name_ + " comes");
  }
  ~SlowLabeller() override {
    gate_.Wait();
    diary_.Add(name_ + " is gone");
  }
  Result<Labels> Read() override {
    diary_.Add(name_ + " reads");
    gate_.Wait();
    return Labels{{"x.com/by", name_}};
  }
  Labels WithoutDevices() override { return {}; }

 private:
  const std::string name_;
  const Gate& gate_;
  Diary& diary_;
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
    sync_ =
        std::make_unique<LabelSync>(LabelSync::Surroundings{.loop = loop_,
                                                            .may_write = std::move(may_write),
                                                            .to_node = std::move(to_node),
                                                            .labellers =
                                                                [this](const config::Config&) {
                                                                  Labellers labellers;
                                                                  labellers.push_back(labeller_());
                                                                  return labellers;
                                                                },
                                                            .clock = clock_,
                                                            .settle = Duration(1)},
                                    config_);
  }
  std::string OnDisk() { return os::ReadFile(config_.labels.file).value_or("nothing"); }
  // Runs the loop until `holds` is true.
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
  std::function<std::unique_ptr<Labeller>()> labeller_ = [this] {
    return std::make_unique<FakeLabeller>(answers_);
  };
  config::Config config_;
  FakeClock clock_;
  bool may_write_ = true;
  std::string log_;
  os::Loop loop_;
  std::unique_ptr<LabelSync> sync_;
};

TEST_F(LabelSyncTest, LabelsAreWrittenAndFollowTheDevices) {
  Begin();
  sync_->ReadSoon();
  AwaitFile("x.com/count=8\n");

  answers_->Set(Labels{{"x.com/count", "7"}});
  sync_->ReadSoon();
  AwaitFile("x.com/count=7\n");
}

TEST_F(LabelSyncTest, TheFileOutlivesTheAgentUnlessItIsToldOtherwise) {
  Begin();
  sync_->ReadSoon();
  AwaitLog("wrote the node's labels");
  sync_.reset();
  EXPECT_EQ(OnDisk(), "x.com/count=8\n");

  config_.labels.remove_on_exit = true;
  answers_->Set(Labels{{"x.com/count", "7"}});
  log_.clear();
  Begin();
  sync_->ReadSoon();
  AwaitLog("wrote the node's labels");
  sync_.reset();
  EXPECT_EQ(OnDisk(), "nothing");
}

TEST_F(LabelSyncTest, WhatCannotBeReadStaysAsItWasAndIsToldOnce) {
  Begin();
  sync_->ReadSoon();
  AwaitFile("x.com/count=8\n");

  answers_->Set(Fail(Reason::kDriverMissing, "there is no driver"));
  sync_->ReadSoon();
  AwaitLog("cannot read the node's labels; the published ones stay for a while");
  EXPECT_EQ(OnDisk(), "x.com/count=8\n");

  clock_.Advance(LabelSync::kGrace);
  log_.clear();
  sync_->ReadSoon();
  AwaitFile("x.com/present=false\n");
  AwaitLog("wrote the node's labels");
  EXPECT_EQ(log_.find("cannot be read"), log_.npos);

  answers_->Set(Labels{{"x.com/count", "8"}});
  sync_->ReadSoon();
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
  sync_->ReadSoon();
  Await([&] { return asked > 0; });
  EXPECT_EQ(OnDisk(), "nothing");

  may_write_ = true;
  sync_->ReadSoon();
  AwaitFile("x.com/count=8\n");
}

TEST_F(LabelSyncTest, AutoWritesTheFileOnlyWhereItsDirectoryIs) {
  config_.labels.output = config::LabelsOutput::kAuto;
  Begin();
  sync_->ReadSoon();
  AwaitLog("the node is not labelled");
  EXPECT_EQ(OnDisk(), "nothing");

  ASSERT_TRUE(os::MakeDirectories(directory_ + "/features.d"));
  sync_->ReadSoon();
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
  sync_->ReadSoon();
  Await([&] { return !told.empty(); });
  EXPECT_EQ(told, (std::vector<Labels>{{{"x.com/count", "8"}}}));
  EXPECT_EQ(OnDisk(), "nothing");

  ASSERT_TRUE(os::MakeDirectories(directory_ + "/features.d"));
  sync_->ReadSoon();
  AwaitFile("x.com/count=8\n");
  EXPECT_EQ(told, (std::vector<Labels>{{{"x.com/count", "8"}}, {}}));

  ASSERT_TRUE(os::RemoveTree(directory_ + "/features.d"));
  sync_->ReadSoon();
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
  sync_->ReadSoon();
  AwaitLog("wrote the node's labels");

  config::Config elsewhere = config_;
  elsewhere.labels.file = directory_ + "/other/gfd";
  sync_->Apply(elsewhere);
  EXPECT_EQ(OnDisk(), "nothing");
  sync_->ReadSoon();
  Await([&] { return os::Exists(elsewhere.labels.file); });

  sync_->Apply(elsewhere);
  elsewhere.labels.output = config::LabelsOutput::kOff;
  sync_->Apply(elsewhere);
  EXPECT_FALSE(os::Exists(elsewhere.labels.file));
}

TEST_F(LabelSyncTest, TheFormerLabellersEndOnceTheNewOnesHaveComeAndNobodyWaitsForThem) {
  Gate gate;
  Diary diary;
  labeller_ = [&, made = 0]() mutable {
    return std::make_unique<SlowLabeller>(std::to_string(++made), gate, diary);
  };
  Begin();

  sync_->Apply(config_);
  EXPECT_EQ(diary.all(), (std::vector<std::string>{"1 comes", "2 comes"}));

  gate.Open();
  Await([&] { return diary.all().size() == 3; });
  EXPECT_EQ(diary.all().back(), "1 is gone");
  sync_.reset();
}

TEST_F(LabelSyncTest, WhatWasBeingReadByTheFormerConfigurationCountsForNothing) {
  Gate gate;
  Diary diary;
  std::vector<Labels> told;
  config_.labels.output = config::LabelsOutput::kNode;
  labeller_ = [&] { return std::make_unique<SlowLabeller>("former", gate, diary); };
  Begin([] { return true; },
        [&told](const Labels& labels) {
          told.push_back(labels);
          return true;
        });
  sync_->ReadSoon();
  Await([&] { return diary.all().size() == 2; });

  labeller_ = [&] { return std::make_unique<FakeLabeller>(answers_); };
  sync_->Apply(config_);
  sync_->ReadSoon();
  Await([&] { return told.size() == 1; });
  gate.Open();
  Await([&] { return diary.all().back() == "former is gone"; });
  answers_->Set(Labels{{"x.com/count", "7"}});
  sync_->ReadSoon();
  Await([&] { return told.back() == Labels{{"x.com/count", "7"}}; });

  EXPECT_EQ(told, (std::vector<Labels>{{{"x.com/count", "8"}}, {{"x.com/count", "7"}}}));
  sync_.reset();
}

TEST_F(LabelSyncTest, AFailureToWriteIsToldOnceAndTriedAgain) {
  ASSERT_TRUE(os::MakeDirectories(config_.labels.file));
  Begin();
  sync_->ReadSoon();
  AwaitLog("cannot write the node's labels");

  ASSERT_TRUE(os::RemoveTree(config_.labels.file));
  sync_->ReadSoon();
  AwaitFile("x.com/count=8\n");
}

}  // namespace
}  // namespace tessera
