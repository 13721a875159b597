// SPDX-License-Identifier: Apache-2.0
#include "discovery/prober.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace tessera {
namespace {

// Devices answer well, except those that hang until released.
class FakeBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>(); }
  Evidence Check(const Device& device) override {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !hang_.contains(device.key.id); });
    wake_.wait_for(lock, time_, [] { return false; });
    return {EvidenceKind::kGood, EvidenceSource::kCheck, Reason::kCheckFailed, ""};
  }
  bool TellsByItself() const override { return tells_; }
  void TellByItself() { tells_ = true; }
  void TakeTime(Duration time) { time_ = time; }
  void Hang(const std::string& id) {
    std::lock_guard lock(mutex_);
    hang_.insert(id);
  }
  void LetGo() {
    std::lock_guard lock(mutex_);
    hang_.clear();
    wake_.notify_all();
  }

 private:
  bool tells_ = false;
  Duration time_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::string> hang_;
};

constexpr Duration kNever{3'600'000};  // no test takes so long

Device Npu(const std::string& id) {
  Device device;
  device.key = {"dummy.com/npu", id};
  return device;
}

class ProberTest : public testing::Test {
 protected:
  ~ProberTest() override { backend_->LetGo(); }

  // Shortens the timeout, for tests in which a check hangs. On an overloaded machine other checks
  // may then be late too.
  void LimitChecks() { prober_.SetParameters({.interval = Duration(1), .timeout = Duration(50)}); }
  bool Saw(const std::string& id, EvidenceKind kind) {
    return std::ranges::find(seen_[id], kind) != seen_[id].end();
  }

  // Runs until a sink call makes `done` true.
  void RunUntil(const std::function<bool()>& done) {
    done_ = done;
    auto deadline = loop_.After(Duration(20'000), [this] {
      ADD_FAILURE() << "not observed in time";
      loop_.Stop();
    });
    loop_.Run();
  }

  void Sink(const std::vector<Observation>& observations) {
    for (const Observation& observation : observations) {
      seen_[observation.key.id].push_back(observation.evidence.kind);
    }
    if (hasty_) prober_.SweepSoon();
    if (done_ && done_()) loop_.Stop();
  }

  os::Loop loop_;
  os::Workers workers_{8};
  std::shared_ptr<FakeBackend> backend_ = std::make_shared<FakeBackend>();
  std::map<std::string, std::vector<EvidenceKind>> seen_;
  std::function<bool()> done_;
  bool hasty_ = false;  // the sink asks for another sweep soon
  Prober prober_{loop_,
                 workers_,
                 backend_,
                 {.interval = Duration(1), .timeout = kNever},
                 [this](const std::vector<Observation>& observations) { Sink(observations); }};
};

TEST_F(ProberTest, EveryDeviceIsCheckedAgainAndAgain) {
  prober_.SetDevices({Npu("0"), Npu("1")});

  RunUntil([this] { return seen_["1"].size() >= 3; });

  EXPECT_GE(seen_["0"].size(), 3u);
  EXPECT_EQ(seen_["0"].front(), EvidenceKind::kGood);
}

TEST_F(ProberTest, AHangingCheckCostsOnlyItsOwnDevice) {
  LimitChecks();
  backend_->Hang("0");
  prober_.SetDevices({Npu("0"), Npu("1")});

  RunUntil([this] { return Saw("1", EvidenceKind::kGood) && seen_["0"].size() >= 2; });

  EXPECT_FALSE(Saw("0", EvidenceKind::kGood));
}

TEST_F(ProberTest, ADeviceWhoseCheckReturnsIsAskedAgain) {
  LimitChecks();
  backend_->Hang("0");
  prober_.SetDevices({Npu("0")});
  RunUntil([this] { return !seen_["0"].empty(); });

  backend_->LetGo();
  RunUntil([this] { return seen_["0"].back() == EvidenceKind::kGood; });
}

TEST_F(ProberTest, NewDevicesAreCheckedWithoutWaitingForTheInterval) {
  prober_.SetParameters({.interval = kNever, .timeout = kNever});
  prober_.SetDevices({Npu("0")});
  RunUntil([this] { return !seen_["0"].empty(); });

  loop_.Post([this] { prober_.SetDevices({Npu("0"), Npu("1")}); });
  RunUntil([this] { return !seen_["1"].empty(); });

  EXPECT_EQ(seen_["1"].front(), EvidenceKind::kGood);
}

TEST_F(ProberTest, ABackendThatTellsByItselfIsLeftAloneUntilSomethingIsToBeLearned) {
  // At rest it is asked at multiples of this, none of which comes in a test.
  constexpr Duration kCentury{3'155'760'000'000};
  prober_.SetParameters({.interval = Duration(1), .resting = kCentury, .timeout = kNever});
  backend_->TellByItself();
  prober_.SetDevices({Npu("0")});
  RunUntil([this] { return !seen_["0"].empty(); });

  const auto enough = loop_.After(Duration(30), [this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_EQ(seen_["0"].size(), 1U);

  prober_.SweepSoon();
  RunUntil([this] { return seen_["0"].size() == 2; });
}

TEST_F(ProberTest, ASweepThatIsLongerThanTheIntervalIsHeardWhileADeviceHangs) {
  LimitChecks();
  hasty_ = true;
  backend_->TakeTime(Duration(5));
  backend_->Hang("0");
  prober_.SetDevices({Npu("0"), Npu("1"), Npu("2")});

  RunUntil([this] { return seen_["2"].size() >= 5; });

  EXPECT_EQ(seen_["0"].back(), EvidenceKind::kUnknown);
}

TEST_F(ProberTest, WithManyHangingChecksNoOtherIsBegun) {
  LimitChecks();
  DeviceList devices;
  for (int i = 0; i < 10; ++i) {
    devices.push_back(Npu(std::to_string(i)));
    if (i < 8) backend_->Hang(std::to_string(i));
  }
  prober_.SetDevices(devices);

  RunUntil([this] { return seen_["7"].size() >= 3; });

  EXPECT_TRUE(seen_["8"].empty());
  EXPECT_TRUE(seen_["9"].empty());
}

TEST_F(ProberTest, ABackendThatTellsByItselfIsAskedAgainWhileADeviceHangs) {
  LimitChecks();
  backend_->TellByItself();
  backend_->Hang("0");
  prober_.SetDevices({Npu("0"), Npu("1")});

  RunUntil([this] { return seen_["1"].size() >= 3; });

  EXPECT_EQ(seen_["0"].back(), EvidenceKind::kUnknown);
}

}  // namespace
}  // namespace tessera
