// SPDX-License-Identifier: Apache-2.0
#include "matched/grant_match.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Grant MatchedTo(const std::string& pod, const std::string& container) {
  Grant grant;
  grant.annotations = {{kPodAnnotation, pod}, {kContainerAnnotation, container}};
  return grant;
}

// The refusal's text; empty: the owner matches.
std::string Owner(const Grant& answer) {
  const HeldGrant held{.pod_uid = "uid-1",
                       .container = "app",
                       .resource = "a.com/b",
                       .matched = answer.annotations.contains(kPodAnnotation),
                       .answer = answer};
  const Status checked = CheckOwner(held);
  return checked ? "" : checked.error().message;
}

TEST(CheckOwner, WhatWasMatchedIsTheContainersThatItWasMatchedTo) {
  EXPECT_EQ(Owner(MatchedTo("uid-1", "app")), "");
  EXPECT_EQ(
      Owner(MatchedTo("uid-2", "app")),
      "a.com/b: kubelet gave container app of pod uid-1 the grant of container app of pod uid-2");
  EXPECT_EQ(
      Owner(MatchedTo("uid-1", "init")),
      "a.com/b: kubelet gave container app of pod uid-1 the grant of container init of pod uid-1");
}

TEST(CheckOwner, WhatWasNeverMatchedIsAnybodys) {
  EXPECT_EQ(Owner(Grant()), "");
}

class CheckMatchTest : public testing::Test {
 protected:
  CheckMatchTest() {
    answer_.annotations[kPartsAnnotation] = "GPU-1=300:30";
    answer_.mounts = {{"/vgpu/containers/uid-1_app", "/vgpu"},
                      {"/vgpu/libvgpu.so.1", "/vgpu/libvgpu.so"},
                      {"/vgpu/limits/1", "/run/tessera/vgpu"},
                      {"/vgpu/ld.so.preload", "/etc/ld.so.preload"}};
    fractions_.library = "/vgpu/libvgpu.so.1";
  }
  std::string Trouble() const {
    const Status checked = CheckMatch(answer_, Offer(), fractions_, record_);
    return checked ? "" : checked.error().message;
  }

  Grant answer_;
  FractionRules fractions_;
  BindingRecord record_{.resource = "a.com/b",
                        .pod_uid = "uid-1",
                        .container = "app",
                        .directory = "/vgpu/containers/uid-1_app",
                        .parts = {{"GPU-1", 300, 30}}};
};

TEST_F(CheckMatchTest, TheSameIsRight) {
  EXPECT_EQ(Trouble(), "");
}

TEST_F(CheckMatchTest, OtherSizesAreWrong) {
  record_.parts[0].cores = 20;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted GPU-1=300:30, but now GPU-1=300:20 is "
            "chosen for it");
}

TEST_F(CheckMatchTest, OtherSizesOfTheSameGpusAreRightWhereTheLimitsFileSaysThem) {
  fractions_.own_library = true;
  record_.parts = {{"GPU-1", 200, 0}};
  EXPECT_EQ(Trouble(), "");
  answer_.annotations[kPartsAnnotation] = "GPU-2=300:30,GPU-1=300:30";
  record_.parts = {{"GPU-1", 200, 0}, {"GPU-2", 100, 10}};
  EXPECT_EQ(Trouble(), "") << "in whatever order";
}

TEST_F(CheckMatchTest, AnotherGpuIsWrongWhateverTheLimitsFileSays) {
  fractions_.own_library = true;
  record_.parts[0].device = "GPU-2";
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted GPU-1=300:30, but now GPU-2=300:30 is "
            "chosen for it");
  record_.parts = {{"GPU-1", 300, 30}, {"GPU-2", 300, 30}};
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted GPU-1=300:30, but now "
            "GPU-1=300:30,GPU-2=300:30 is chosen for it");
  answer_.annotations[kPartsAnnotation] = "asked";
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted asked, but now "
            "GPU-1=300:30,GPU-2=300:30 is chosen for it");
}

TEST_F(CheckMatchTest, OtherSizesAreWrongWhereTheAnswerHasNothingThatGoesByTheLimitsFile) {
  fractions_.own_library = true;
  record_.parts[0].cores = 20;
  const std::string wrong =
      "a.com/b: container app of pod uid-1 was granted GPU-1=300:30, but now GPU-1=300:20 is "
      "chosen for it";
  EXPECT_EQ(Trouble(), "");
  const std::vector<Mount> mounts = answer_.mounts;
  for (size_t without : {1, 2, 3}) {
    answer_.mounts = mounts;
    answer_.mounts.erase(answer_.mounts.begin() + static_cast<ptrdiff_t>(without));
    EXPECT_EQ(Trouble(), wrong) << mounts[without].container_path;
  }
  answer_.mounts = mounts;
  answer_.mounts[1].host_path = "/vgpu/libvgpu.so";
  EXPECT_EQ(Trouble(), wrong) << "a library that was there before";
  answer_.mounts = mounts;
  record_.controlled = false;
  EXPECT_EQ(Trouble(), wrong) << "it is loaded into nothing";
}

TEST_F(CheckMatchTest, AnotherDirectoryIsWrong) {
  record_.directory = "/other/containers/uid-1_app";
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted another directory than "
            "/other/containers/uid-1_app");
}

TEST_F(CheckMatchTest, WhoIsHeldByTheLibraryOrNotStaysSo) {
  record_.controlled = false;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted with the limiting library, which "
            "no longer applies");
  answer_.mounts.pop_back();
  EXPECT_EQ(Trouble(), "");
  record_.controlled = true;
  EXPECT_EQ(Trouble(),
            "a.com/b: container app of pod uid-1 was granted without the limiting library, which "
            "no longer applies");
}

TEST_F(CheckMatchTest, WhereTheLibraryIsNotEnforcedNobodyIsHeld) {
  answer_.mounts.resize(1);
  EXPECT_EQ(Trouble(), "");
}

}  // namespace
}  // namespace tessera
