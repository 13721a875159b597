// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_pins.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

constexpr char kGrant[] = "00000000000000000000000000000001";
constexpr char kResource[] = "nvidia.com/gpu";

TEST(Pin, SurvivesBeingWritten) {
  const Pin pin{.resource = kResource,
                .pod_uid = "uid-1",
                .container = "app",
                .directory = "/usr/local/vgpu/containers/1",
                .parts = {{"GPU-1", 500, 50}, {"GPU-2", 1, 100}},
                .library = "/usr/local/vgpu/libvgpu.so.0123456789abcdef"};
  EXPECT_EQ(ReadPin(PinText(pin)), pin);
}

TEST(Pin, ADecisionForAWholePodSurvivesToo) {
  const Pin pin{.resource = kResource,
                .pod_uid = "uid-1",
                .container = "app",
                .directory = "/usr/local/vgpu/containers/uid-1_app",
                .parts = {{"GPU-1", 500, 0}},
                .controlled = false,
                .library = "",
                .decision = {{"prepare", hami::ContainerKind::kInit, {{"GPU-2", 1, 100}}},
                             {"beside", hami::ContainerKind::kSidecar, {{"GPU-1", 2, 0}}},
                             {"app", hami::ContainerKind::kApp, {{"GPU-1", 500, 0}}}},
                .fitted = true,
                .gate = "/usr/local/vgpu/grants/1",
                .ids = {"GPU-1-0", "GPU-1-10"}};
  EXPECT_EQ(ReadPin(PinText(pin)), pin);
}

TEST(Pin, WhatIsNoneIsNoGrant) {
  for (const char* text : {"", "{", "[]", "{}", R"({"version": 2, "parts": []})",
                           R"({"version": 1, "parts": []})", R"({"version": 1, "parts": [1]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 0}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1,
                               "cores": 1}], "decision": [{"kind": "other"}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1,
                               "cores": 1}], "ids": [1]})"}) {
    EXPECT_FALSE(ReadPin(text)) << text;
  }
}

TEST(NewGrantName, IsAnotherOneEachTime) {
  EXPECT_EQ(NewGrantName().size(), 32U);
  EXPECT_NE(NewGrantName(), NewGrantName());
}

class GrantPinsTest : public testing::Test {
 protected:
  ~GrantPinsTest() override { (void)os::RemoveTree(state_dir_); }

  // Empty: it is added.
  std::string Add(GrantPins& pins) const {
    const auto lock = pins.Lock();
    auto prepared = pins.Prepare(kGrant, std::make_shared<const Pin>(pin_));
    if (!prepared) return prepared.error().message;
    const Status status = pins.Add({&*prepared, 1}).at(0);
    return status ? "" : status.error().message;
  }

  const std::string state_dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "pins");
  const Pin pin_{kResource, "uid-1", "app", "/containers/1", {{"GPU-1", 500, 50}}};
  GrantPins pins_{state_dir_};
};

TEST_F(GrantPinsTest, AnotherInstanceFindsWhatIsWritten) {
  EXPECT_FALSE(pins_.any());
  ASSERT_EQ(Add(pins_), "");

  GrantPins others(state_dir_);
  EXPECT_TRUE(others.any());
  EXPECT_EQ(*others.Find(kGrant).value(), pin_);
  EXPECT_EQ(others.Grants().value(), GrantPins::Names{kGrant});
}

TEST_F(GrantPinsTest, WhatWasNeverBoundIsFoundOnceAnotherInstanceHasBoundIt) {
  EXPECT_EQ(pins_.Find(kGrant).value(), nullptr);

  GrantPins others(state_dir_);
  ASSERT_EQ(Add(others), "");
  EXPECT_EQ(*pins_.Find(kGrant).value(), pin_);
}

TEST_F(GrantPinsTest, WhatIsNotAmongThoseThatAreThereIsNotLookedFor) {
  GrantPins others(state_dir_);
  ASSERT_EQ(Add(others), "");
  const GrantPins::Names before;
  EXPECT_EQ(pins_.Find(kGrant, &before).value(), nullptr);

  const GrantPins::Names since = pins_.Grants().value();
  EXPECT_EQ(*pins_.Find(kGrant, &since).value(), pin_);
  EXPECT_EQ(*pins_.Find(kGrant, &before).value(), pin_) << "what is known once is not asked for";
}

TEST_F(GrantPinsTest, WhatIsPreparedIsNotFoundAndOneThatCannotBeIsSaidWhy) {
  const auto lock = pins_.Lock();
  ASSERT_TRUE(pins_.Prepare(kGrant, std::make_shared<const Pin>(pin_)));
  EXPECT_EQ(pins_.Find(kGrant).value(), nullptr);
  EXPECT_EQ(os::ListDirectory(state_dir_ + "/grants").value(), std::vector<std::string>());

  const std::string path = state_dir_ + "/grants/" + kGrant + ".json";
  ASSERT_TRUE(os::MakeDirectories(path, 0700));
  EXPECT_EQ(Add(pins_), path + " is not a regular file and is not replaced");
}

TEST_F(GrantPinsTest, WhatIsRemovedIsGone) {
  ASSERT_EQ(Add(pins_), "");
  pins_.Remove(kGrant);

  EXPECT_EQ(pins_.Find(kGrant).value(), nullptr);
  EXPECT_EQ(pins_.Grants().value(), GrantPins::Names());
}

TEST_F(GrantPinsTest, FilesOfOthersAreNoGrants) {
  ASSERT_EQ(Add(pins_), "");
  for (const char* name : {"/a.json", "/00000000000000000000000000000002.json.tmp1", "/README"}) {
    ASSERT_TRUE(os::ReplaceFile(state_dir_ + "/grants" + name, ""));
  }
  EXPECT_EQ(pins_.Grants().value(), GrantPins::Names{kGrant});
}

}  // namespace
}  // namespace tessera::agent
