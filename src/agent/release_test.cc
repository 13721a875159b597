// SPDX-License-Identifier: Apache-2.0
#include "agent/release.h"

#include <gtest/gtest.h>

#include "api/server.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

using Names = std::vector<std::string>;

constexpr char kBoot[] = "boot-1";
constexpr Duration kHour = Release::kLongest;

// A resource whose library is released by order while another user holds it open.
class ReleaseTest : public testing::Test {
 protected:
  ~ReleaseTest() override { (void)os::RemoveTree(directory_); }

  VendorLibraries Libraries() {
    return {.set_released = [this](auto order) { order_ = std::move(order); },
            .released = [this] { return order_ ? names_ : Names(); },
            .held_by = [this] { return order_ ? held_by_ : Names(); }};
  }
  // Restarts as another process, of this boot or another.
  std::unique_ptr<Release> Restart(const std::string& boot_id = kBoot) {
    order_.reset();
    auto next = std::make_unique<Release>(loop_, Libraries(), path_);
    next->Restore(boot_id);
    return next;
  }
  std::string UntilOf(const Release& release) const {
    return json::GetString(release.Page().as_object(), "until").value_or("none");
  }
  void Save(const std::string& boot_id, Duration left) const {
    const Steady until = SystemClock().Now() + left;
    const json::Object saved{{"bootId", boot_id}, {"until", until.time_since_epoch().count()}};
    ASSERT_TRUE(os::ReplaceFile(path_, json::Write(saved)));
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "release");
  const std::string path_ = directory_ + "/release.jsonl";
  os::Loop loop_;
  Names names_ = {"nvidia.com/gpu"};
  Names held_by_ = {};
  std::optional<Error> order_;
  std::unique_ptr<Release> release_ = Restart();
};

TEST_F(ReleaseTest, LibrariesAreLetGoOfUntilATimeThatIsSaid) {
  held_by_ = {"GPU-1: events"};

  ASSERT_TRUE(release_->Begin(kHour));

  const std::string until = UntilOf(*release_);
  EXPECT_EQ(order_, (Error{Reason::kReleased, "closed by 'tessera release' until " + until}));
  EXPECT_TRUE(release_->under_way());
  EXPECT_EQ(release_->Page(), json::Value(json::Object{{"until", until},
                                                       {"resources", {"nvidia.com/gpu"}},
                                                       {"heldBy", {"GPU-1: events"}}}));
}

TEST_F(ReleaseTest, ItEndsByOrder) {
  ASSERT_TRUE(release_->Begin(kHour));

  ASSERT_TRUE(release_->End());

  EXPECT_EQ(order_, std::nullopt);
  EXPECT_FALSE(release_->under_way());
  EXPECT_FALSE(os::Exists(path_));
  EXPECT_EQ(release_->Page(),
            json::Value(json::Object{
                {"until", nullptr}, {"resources", json::Array()}, {"heldBy", json::Array()}}));
}

TEST_F(ReleaseTest, ItEndsInTime) {
  ASSERT_TRUE(release_->Begin(Duration(1)));

  EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [this] { return !release_->under_way(); }));

  EXPECT_EQ(order_, std::nullopt);
  EXPECT_FALSE(os::Exists(path_));
}

TEST_F(ReleaseTest, WhatIsNotUnderWayDoesNotEnd) {
  EXPECT_EQ(release_->End().error(), (Error{Reason::kNotFound, "nothing is released"}));
}

TEST_F(ReleaseTest, NoTimeAndMoreThanAnHourAreRefused) {
  for (const Duration time : {Duration(-1), Duration(0), kHour + Duration(1)}) {
    EXPECT_EQ(release_->Begin(time).error(),
              (Error{Reason::kInvalid, "the time must be above 0 and at most 1h"}));
  }
  EXPECT_EQ(order_, std::nullopt);
}

TEST_F(ReleaseTest, WithoutALibraryThereIsNothingToLetGoOf) {
  names_ = {};

  EXPECT_EQ(release_->Begin(kHour).error(),
            (Error{Reason::kNotFound, "no resource of this node holds a vendor's library"}));

  EXPECT_EQ(order_, std::nullopt);
  EXPECT_FALSE(release_->under_way());
  EXPECT_FALSE(os::Exists(path_));
}

TEST_F(ReleaseTest, ALaterOrderTakesThePlaceOfTheFormer) {
  ASSERT_TRUE(release_->Begin(Duration(1)));

  ASSERT_TRUE(release_->Begin(kHour));
  bool passed = false;
  const auto timer = loop_.After(Duration(5), [&] { passed = true; });
  ASSERT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] { return passed; }));

  EXPECT_TRUE(release_->under_way());
}

TEST_F(ReleaseTest, AnotherProcessOfTheBootGoesOnWithIt) {
  ASSERT_TRUE(release_->Begin(kHour));

  const auto next = Restart();

  EXPECT_EQ(order_,
            (Error{Reason::kReleased, "closed by 'tessera release' until " + UntilOf(*next)}));
  EXPECT_TRUE(next->under_way());
}

TEST_F(ReleaseTest, OfAnotherBootItIsForgotten) {
  ASSERT_TRUE(release_->Begin(kHour));

  EXPECT_FALSE(Restart("boot-2")->under_way());

  EXPECT_EQ(order_, std::nullopt);
  EXPECT_FALSE(os::Exists(path_));
}

TEST_F(ReleaseTest, OneThatIsOverOrTooLongIsForgotten) {
  for (const Duration left : {Duration(0), Duration(-1), kHour + Duration(60'000)}) {
    Save(kBoot, left);
    EXPECT_FALSE(Restart()->under_way()) << left.count();
    EXPECT_FALSE(os::Exists(path_)) << left.count();
  }
}

TEST_F(ReleaseTest, AFileThatSaysNothingIsForgotten) {
  for (const char* text : {"", "[]", "{\"bootId\": \"boot-1\"}", "{\"bootId\": \"boot-1\", \"un"}) {
    ASSERT_TRUE(os::ReplaceFile(path_, text));
    EXPECT_FALSE(Restart()->under_way()) << text;
    EXPECT_FALSE(os::Exists(path_)) << text;
  }
}

TEST_F(ReleaseTest, AnOrderThatCannotBeSavedHoldsAllTheSame) {
  ASSERT_TRUE(os::RemoveTree(directory_));

  ASSERT_TRUE(release_->Begin(kHour));

  EXPECT_TRUE(release_->under_way());
}

}  // namespace
}  // namespace tessera::agent
