// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_trouble.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr char kDirectory[] = "/usr/local/vgpu";

class GrantTroubleTest : public testing::Test {
 protected:
  GrantTroubleTest() {
    EXPECT_TRUE(os::MakeDirectories(directory_ + kDirectory, 0755));
    EXPECT_TRUE(os::ReplaceFile(directory_ + fractions_.library, "a library", 0644));
  }
  ~GrantTroubleTest() override { (void)os::RemoveTree(directory_); }

  void SetMode(const std::string& path, mode_t mode) const {
    ASSERT_EQ(chmod((directory_ + path).c_str(), mode), 0);
  }
  // The trouble's text; empty: none.
  std::string Trouble() const {
    const Status checked = CheckGrants(root_, fractions_);
    if (checked) return "";
    return fmt::format("{}: {}", ReasonName(checked.error().reason), checked.error().message);
  }
  std::string Unsafe(const std::string& path, const char* mode) const {
    return fmt::format(
        "permission: {}{} is writable for users other than root (user {}, group {}, {}); files "
        "that limit containers must not lie there",
        directory_, path, geteuid(), getegid(), mode);
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "trouble");
  const os::Root root_{directory_};
  FractionRules fractions_{.directory = kDirectory, .library = "/usr/local/vgpu/libvgpu.so"};
};

TEST_F(GrantTroubleTest, WithALibraryInADirectoryOfTheAgentsThereIsNone) {
  EXPECT_EQ(Trouble(), "");
  EXPECT_EQ(os::Inspect(directory_ + kDirectory + "/containers")->mode & 07777U, 0700U);
}

TEST_F(GrantTroubleTest, AMissingLibraryIsOneUntilItIsThere) {
  ASSERT_TRUE(os::RemoveFile(directory_ + fractions_.library));
  EXPECT_EQ(Trouble(), "not-enforced: the limiting library is not at /usr/local/vgpu/libvgpu.so");
  fractions_.enforced = false;
  EXPECT_EQ(Trouble(), "");
}

TEST_F(GrantTroubleTest, WhatOthersCouldPutInTheDirectorysPlaceIsNotTrusted) {
  SetMode("/usr", 0777);
  EXPECT_EQ(Trouble(), Unsafe("/usr", "0777"));
  SetMode("/usr", 01777);
  EXPECT_EQ(Trouble(), Unsafe("/usr", "1777")) << "who comes first decides, as in /tmp";
  SetMode("/usr", 0755);
  SetMode(kDirectory, 0757);
  EXPECT_EQ(Trouble(), Unsafe(kDirectory, "0757"));
  SetMode(kDirectory, 0755);
  SetMode(fractions_.library, 0646);
  EXPECT_EQ(Trouble(), Unsafe(fractions_.library, "0646")) << "all containers run it";
}

TEST_F(GrantTroubleTest, NorWhereALinkLeads) {
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/open/vgpu", 0755));
  SetMode("/open", 0777);
  ASSERT_TRUE(os::RemoveTree(directory_ + kDirectory));
  ASSERT_TRUE(os::ReplaceLink(directory_ + kDirectory, "../../open/vgpu"));
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/open/vgpu/libvgpu.so", "a library", 0644));
  EXPECT_EQ(Trouble(), Unsafe("/open", "0777"));
}

TEST_F(GrantTroubleTest, WhatSomebodyElseHasPutInADirectorysPlaceIsNamed) {
  ASSERT_TRUE(os::ReplaceLink(directory_ + kDirectory + "/containers", "/tmp"));
  EXPECT_EQ(
      Trouble(),
      fmt::format("permission: {}{}/containers is not a directory of the agent's user; remove it",
                  directory_, kDirectory));
}

TEST_F(GrantTroubleTest, WhatAnotherUserOwnsIsHis) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown((directory_ + "/usr/local").c_str(), 65534, 65534), 0);
  EXPECT_EQ(Trouble(),
            fmt::format("permission: {}/usr/local is writable for users other than root (user "
                        "65534, group 65534, 0755); files that limit containers must not lie there",
                        directory_));
}

TEST_F(GrantTroubleTest, AFileSystemThatIsMountedLikeAnyOtherLacksOptions) {
  EXPECT_EQ(MissingMountFlags(os::Root("/nowhere"), fractions_), std::nullopt) << "it is not there";
  fractions_.directory = "/proc/self/fd";  // nosuid, nodev and noexec everywhere
  EXPECT_EQ(MissingMountFlags(os::Root(), fractions_), std::nullopt);
}

TEST_F(GrantTroubleTest, TheLocksOfAnotherLibraryAreWrittenByContainersToo) {
  ASSERT_TRUE(os::MakeDirectories(directory_ + kDirectory + "/locks", 0755));
  fractions_.own_library = true;
  EXPECT_EQ(MissingMountFlags(os::Root(directory_), fractions_), std::nullopt);
  fractions_.own_library = false;
  struct statvfs mounted{};
  ASSERT_EQ(statvfs(directory_.c_str(), &mounted), 0);
  const auto missing = MissingMountFlags(os::Root(directory_), fractions_);
  const bool lacks =
      (mounted.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) != (ST_NOSUID | ST_NODEV | ST_NOEXEC);
  EXPECT_EQ(missing ? missing->directory : "", lacks ? kDirectory + std::string("/locks") : "");
}

}  // namespace
}  // namespace tessera
