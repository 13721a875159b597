// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_match.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

Grant MatchedTo(const std::string& pod, const std::string& container) {
  Grant grant;
  grant.annotations = {{kPodAnnotation, pod}, {kContainerAnnotation, container}};
  return grant;
}

// Empty: it is that container's.
std::string Owner(const Grant& answer) {
  const HeldGrant held{.pod_uid = "uid-1",
                       .container = "app",
                       .resource = "a.com/b",
                       .matched = IsMatched(answer),
                       .answer = answer};
  const Status checked = CheckOwner(held);
  return checked ? "" : checked.error().message;
}

TEST(CheckOwner, WhatWasMatchedIsTheContainersThatItWasMatchedTo) {
  EXPECT_EQ(Owner(MatchedTo("uid-1", "app")), "");
  EXPECT_EQ(Owner(MatchedTo("uid-2", "app")),
            "a.com/b: kubelet gave container app of pod uid-1 what was meant for app of uid-2");
  EXPECT_EQ(Owner(MatchedTo("uid-1", "init")),
            "a.com/b: kubelet gave container app of pod uid-1 what was meant for init of uid-1");
}

TEST(CheckOwner, WhatWasNeverMatchedIsAnybodys) {
  EXPECT_FALSE(IsMatched(Grant()));
  EXPECT_EQ(Owner(Grant()), "");
}

class CheckMatchTest : public testing::Test {
 protected:
  CheckMatchTest() {
    answer_.annotations[kPartsAnnotation] = "GPU-1=300:30";
    answer_.mounts = {{"/vgpu/containers/uid-1_app", "/vgpu"},
                      {"/vgpu/libvgpu.so", "/vgpu/libvgpu.so"},
                      {"/vgpu/ld.so.preload", "/etc/ld.so.preload"}};
  }
  std::string Trouble() const {
    const Status checked = CheckMatch(answer_, Offer(), pin_);
    return checked ? "" : checked.error().message;
  }

  Grant answer_;
  Pin pin_{.resource = "a.com/b",
           .pod_uid = "uid-1",
           .container = "app",
           .directory = "/vgpu/containers/uid-1_app",
           .parts = {{"GPU-1", 300, 30}}};
};

TEST_F(CheckMatchTest, TheSameIsRight) {
  EXPECT_EQ(Trouble(), "");
}

TEST_F(CheckMatchTest, OtherSizesAreWrong) {
  pin_.parts[0].cores = 20;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was told that it has GPU-1=300:30, and by now "
            "GPU-1=300:20 was chosen for it");
}

TEST_F(CheckMatchTest, AnotherDirectoryIsWrong) {
  pin_.directory = "/other/containers/uid-1_app";
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was told of another directory than "
            "/other/containers/uid-1_app");
}

TEST_F(CheckMatchTest, WhoIsHeldByTheLibraryOrNotStaysSo) {
  pin_.controlled = false;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was told that it is held by the limiting library, "
            "and by now it is not");
  answer_.mounts.pop_back();
  EXPECT_EQ(Trouble(), "");
  pin_.controlled = true;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was told that it is without the limiting library, "
            "and by now it is not");
}

TEST_F(CheckMatchTest, WhereTheLibraryIsNotEnforcedNobodyIsHeld) {
  answer_.mounts.resize(1);
  EXPECT_EQ(Trouble(), "");
}

}  // namespace
}  // namespace tessera::agent
