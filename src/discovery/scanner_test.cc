// SPDX-License-Identifier: Apache-2.0
#include "discovery/scanner.h"

#include <gtest/gtest.h>

#include <mutex>

namespace tessera {
namespace {

// Fails until the test lets it succeed, and records the times of its scans.
class ScannedBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override {
    std::lock_guard lock(mutex_);
    asked_.push_back(SystemClock().Now());
    if (fails_) return Fail(Reason::kDriverMissing, "there is no driver");
    return std::vector<Device>();
  }
  Evidence Check(const Device&) override { return {}; }

  void SetFails(bool fails) {
    std::lock_guard lock(mutex_);
    fails_ = fails;
  }
  std::vector<Steady> asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  bool fails_ = true;
  std::vector<Steady> asked_;
};

class ScannerTest : public testing::Test {
 protected:
  // Runs until this many further scans are over.
  void Run(int scans) {
    scans_ = scans;
    const os::Loop::Handle limit = loop_.After(Duration(20'000), [this] {
      ADD_FAILURE() << "not scanned in time";
      loop_.Stop();
    });
    loop_.Run();
  }

  os::Loop loop_;
  os::Workers workers_{2};
  std::shared_ptr<ScannedBackend> backend_ = std::make_shared<ScannedBackend>();
  int scans_ = 0;
  std::vector<int64_t> retries_;  // after each scan
  Scanner scanner_{loop_, workers_, backend_,
                   [this](const Result<Scanner::ScanResult>&) {
                     // Posted, because the scanner sets its retry after this call.
                     loop_.Post([this] {
                       retries_.push_back(scanner_.retry().count());
                       if (--scans_ == 0) loop_.Stop();
                     });
                   },
                   Backoff(Duration(20), Duration(80))};
};

TEST_F(ScannerTest, ScansThatFailAreRepeatedAfterPausesThatDoubleUpToTheLongest) {
  Run(5);

  EXPECT_EQ(retries_, (std::vector<int64_t>{20, 40, 80, 80, 80}));
  const std::vector<Steady> asked = backend_->asked();
  for (size_t i = 1; i < 5; ++i) {
    // The loop's timers count from the beginning of its turn.
    EXPECT_GE((asked[i] - asked[i - 1]).count(), retries_[i - 1] - 5) << i;
  }
}

TEST_F(ScannerTest, AScanThatGoesWellMakesTheNextPauseTheFirst) {
  Run(3);
  backend_->SetFails(false);
  Run(1);
  backend_->SetFails(true);
  scanner_.ScanSoon();
  Run(2);

  EXPECT_EQ(retries_, (std::vector<int64_t>{20, 40, 80, 0, 20, 40}));
}

TEST(Scanner, AMissingDriverIsLookedForAfterOneSecondFirstAndEveryTenSecondsInTheEnd) {
  Backoff retries = Scanner::kRetries;
  std::vector<int64_t> seconds;
  for (int i = 0; i < 6; ++i) seconds.push_back(retries.Failed().count() / 1'000);

  EXPECT_EQ(seconds, (std::vector<int64_t>{1, 2, 4, 8, 10, 10}));
}

}  // namespace
}  // namespace tessera
