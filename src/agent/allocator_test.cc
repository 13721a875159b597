// SPDX-License-Identifier: Apache-2.0
#include "agent/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>

#include "base/captured_log_test.h"
#include "kubelet/answered_test.h"

namespace tessera::agent {
namespace {

class FakeBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>(); }
  Evidence Check(const Device&) override { return {}; }
  bool ResetsBeforeStart() const override { return true; }
  Status Reset(const Device& device) override {
    reset_.push_back(device.key.id);
    if (during_) during_();
    if (device.key.id == "1") return Fail(Reason::kIo, "stuck");
    return {};
  }
  std::vector<std::string> reset_;
  std::function<void()> during_;
};

class AllocatorTest : public testing::Test {
 protected:
  AllocatorTest() {
    Inventory inventory;
    for (const char* id : {"0", "1"}) {
      Device device;
      device.key = {"dummy.com/npu", id};
      device.visible_as = id;
      inventory.devices.push_back(device);
    }
    auto offer = std::make_shared<Offer>(
        Divide("dummy.com/npu", {{Division::kReplicas, 2}}, inventory, "dummy.com/npu",
               [](const Device&) { return std::optional<Error>(); }));
    Rendering rendering;
    rendering.env = "DUMMY_VISIBLE_DEVICES";
    allocator_->Set({offer, rendering, Placement::kSpread, backend_});
  }

  std::future<Status> Begin(const std::vector<std::string>& ids, bool wanted = true) {
    auto answer = std::make_shared<std::promise<Status>>();
    allocator_->PreStart(
        ids, [wanted] { return wanted; },
        [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future();
  }
  Status PreStart(const std::vector<std::string>& ids) { return Begin(ids).get(); }

  std::shared_ptr<os::Workers> workers_ = std::make_shared<os::Workers>(2);
  http::Metrics metrics_;
  std::vector<std::string> granted_;
  std::shared_ptr<FakeBackend> backend_ = std::make_shared<FakeBackend>();
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      "dummy.com/npu", workers_, nullptr, std::make_shared<BindContext>(), metrics_,
      [this](const Offer&, std::vector<std::string> ids) {
        granted_ = std::move(ids);
        return Status();
      });
};

TEST_F(AllocatorTest, AGrantIsToldToTheLedgerAndCounted) {
  auto grant = kubelet::Answered(*allocator_, {"0::0"});

  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->envs.at("DUMMY_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(granted_, std::vector<std::string>{"0::0"});
  EXPECT_NE(
      metrics_.Expose().find("tessera_allocations_total{resource=\"dummy.com/npu\",code=\"ok\"} 1"),
      std::string::npos);
}

TEST_F(AllocatorTest, ARefusalIsNoGrantAndIsCountedByItsReason) {
  auto grant = kubelet::Answered(*allocator_, {"7::0"});

  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().reason, Reason::kUnknownShare);
  EXPECT_TRUE(granted_.empty());
  EXPECT_NE(metrics_.Expose().find("code=\"unknown-share\"} 1"), std::string::npos);
}

TEST_F(AllocatorTest, PreferenceSpreadsOverDevices) {
  EXPECT_EQ(allocator_->Prefer({"0::0", "0::1", "1::0", "1::1"}, {"0::0"}, 2),
            (std::vector<std::string>{"0::0", "1::0"}));
}

TEST_F(AllocatorTest, EachDeviceIsResetOnceHoweverManyOfItsSharesAreStarted) {
  EXPECT_TRUE(PreStart({"0::0", "0::1"}));
  EXPECT_EQ(backend_->reset_, std::vector<std::string>{"0"});
}

TEST_F(AllocatorTest, AFailedResetSaysWhichDeviceAndWhy) {
  Status status = PreStart({"1::0"});

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(),
            (Error{Reason::kResetFailed, "dummy.com/npu: device 1 could not be reset: stuck"}));
}

TEST_F(AllocatorTest, WhileAResetOfADeviceHangsAnotherIsRefused) {
  std::latch begun(1);
  std::latch end(1);
  backend_->during_ = [&] {
    begun.count_down();
    end.wait();
  };
  std::future<Status> first = Begin({"0::0"});
  begun.wait();

  EXPECT_EQ(
      PreStart({"0::1"}).error(),
      (Error{Reason::kResetTimedOut, "dummy.com/npu: a reset of device 0 is still under way"}));
  end.count_down();
  EXPECT_TRUE(first.get());
  EXPECT_EQ(backend_->reset_, std::vector<std::string>{"0"});
}

TEST_F(AllocatorTest, NothingIsResetForACallThatNobodyWaitsForAnyMore) {
  EXPECT_EQ(Begin({"0::0"}, false).get().error(),
            (Error{Reason::kResetTimedOut,
                   "dummy.com/npu: device 0 was not reset: kubelet no longer waits for it"}));
  EXPECT_EQ(backend_->reset_, std::vector<std::string>());
}

TEST_F(AllocatorTest, WhatIsRefusedAgainAndAgainIsToldOnce) {
  CapturedLog told;
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(kubelet::Answered(*allocator_, {"7::0"}));
    EXPECT_FALSE(PreStart({"1::0"}));
  }

  const std::string text = told.Take();
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  EXPECT_TRUE(text.starts_with(
      "WARN allocation refused resource=dummy.com/npu reason=unknown-share error="))
      << text;
  EXPECT_NE(text.find("WARN a container is not started resource=dummy.com/npu ids=1::0 pod=unknown "
                      "reason=reset-failed error="),
            std::string::npos)
      << text;
  EXPECT_FALSE(kubelet::Answered(*allocator_, {"8::0"}));
  EXPECT_EQ(std::ranges::count(told.Take(), '\n'), 1) << "another cause";
}

TEST_F(AllocatorTest, AnUnknownIdIsNotReset) {
  EXPECT_EQ(PreStart({"9"}).error(), (Error{Reason::kUnknownShare, "dummy.com/npu has no id 9"}));
}

}  // namespace
}  // namespace tessera::agent
