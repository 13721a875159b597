// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_space.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fraction/grant_binder_under_test.h"
#include "limiter/contract.h"
#include "os/rights_test.h"
#include "os/waiting_test.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMiB = 1 << 20;

// A container's directory with a region, from a binder's grant.
class GrantSpaceTest : public GrantBinderTest {
 protected:
  GrantSpaceTest() {
    rendering_.fractions->own_library = true;
    Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
    EXPECT_EQ(Bind({Share(0, 0)}), "");
  }

  std::string In(const std::string& name) const { return own_ + "/" + name; }
  void Write(const std::string& name, size_t bytes) const {
    ASSERT_TRUE(os::ReplaceFile(In(name), std::string(bytes, 'x')));
  }
  Names There() const { return os::ListDirectory(own_).value_or(Names{"nothing"}); }
  std::string Cut() const { return TrimDirectory(own_, {kRegion}).cut.value_or("nothing"); }
  uint64_t SizeOf(const std::string& name) const {
    struct stat info{};
    EXPECT_EQ(stat(In(name).c_str(), &info), 0);
    return static_cast<uint64_t>(info.st_size);
  }

  static constexpr char kRegion[] = "00000000000000000000000000000001.cache";
  static constexpr char kDone[] = "everything except the limiting library's file was removed";
  const std::string own_ = directory_ + "/usr/local/vgpu/containers/" + kOne;
};

TEST_F(GrantSpaceTest, WhatIsSmallIsLeftAlone) {
  Write("log", 15 * kMiB);
  ASSERT_TRUE(os::MakeDirectories(In("a/b"), 0755));
  const SpaceUse space = TrimDirectory(own_, {kRegion});
  EXPECT_EQ(space.cut, std::nullopt);
  EXPECT_GE(space.bytes, 15 * kMiB);
  EXPECT_EQ(There(), (Names{kRegion, "a", "log"}));
}

TEST_F(GrantSpaceTest, WhatIsTooMuchIsCutBackToTheRegion) {
  const auto region = os::Inspect(In(kRegion)).value();
  ASSERT_TRUE(os::MakeDirectories(In("a/b"), 0755));
  Write("a/b/log", 20 * kMiB);
  Write("small", 1);

  EXPECT_EQ(Cut(), fmt::format("20 MiB in 5 files, with a limit of 16 MiB; {}", kDone));
  EXPECT_EQ(There(), Names{kRegion});
  EXPECT_EQ(os::Inspect(In(kRegion)).value().inode, region.inode);
  EXPECT_EQ(os::Inspect(own_).value().mode, 0777U);
  EXPECT_EQ(Cut(), "nothing");
}

// The runtime's mount point for the library. Without it the container's next programs would have no
// limits.
TEST_F(GrantSpaceTest, WhereTheLibraryIsMountedStays) {
  Write("libvgpu.so", 0);
  Write("log", 20 * kMiB);
  EXPECT_TRUE(Cut().ends_with(kDone));
  EXPECT_EQ(There(), (Names{kRegion, "libvgpu.so"}));

  Write("libvgpu.so", 20 * kMiB);
  EXPECT_TRUE(Cut().ends_with(kDone));
  EXPECT_EQ(There(), Names{kRegion});
}

TEST_F(GrantSpaceTest, ARegionThatWasMadeLongerIsCutBackToItsSize) {
  const os::Fd file(open(In(kRegion).c_str(), O_RDWR | O_CLOEXEC));
  const std::string more(20 * kMiB, 'x');
  ASSERT_EQ(pwrite(file.get(), more.data(), more.size(), limiter::kRegionSize),
            static_cast<ssize_t>(more.size()));

  EXPECT_TRUE(Cut().ends_with(kDone));
  EXPECT_EQ(SizeOf(kRegion), limiter::kRegionSize);
  EXPECT_EQ(Cut(), "nothing");
}

TEST_F(GrantSpaceTest, ASparseRegionTakesNothingAndIsLeftAlone) {
  ASSERT_EQ(truncate(In(kRegion).c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(Cut(), "nothing");
  EXPECT_EQ(SizeOf(kRegion), uint64_t{1} << 40);
}

TEST_F(GrantSpaceTest, WhatOnlyHasTheRegionsNameGoesAsTheRest) {
  ASSERT_TRUE(os::RemoveFile(In(kRegion)));
  ASSERT_TRUE(os::MakeDirectories(In(kRegion), 0755));
  Write(std::string(kRegion) + "/log", 20 * kMiB);
  EXPECT_TRUE(Cut().ends_with(kDone));
  EXPECT_EQ(There(), Names());
}

TEST_F(GrantSpaceTest, NoMoreFilesAreLookedAtThanMayBeThere) {
  for (int i = 0; i < 10'000; ++i) {
    const os::Fd file(open(In(std::to_string(i)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
  }
  EXPECT_EQ(Cut(), fmt::format("it has more than 10000 files; {}", kDone));
  EXPECT_EQ(There(), Names{kRegion});
}

TEST_F(GrantSpaceTest, NorDeeperThanDirectoriesMayBeNested) {
  ASSERT_TRUE(os::MakeDirectories(In("1/2/3/4/5/6/7/8/9/10/11"), 0755));
  EXPECT_EQ(Cut(), fmt::format("its directories are nested deeper than 8; {}", kDone));
  EXPECT_EQ(There(), Names{kRegion});
}

TEST_F(GrantSpaceTest, ModesHideNothing) {
  ASSERT_TRUE(os::MakeDirectories(In("a"), 0755));
  Write("a/log", 20 * kMiB);
  ASSERT_EQ(chmod(In("a").c_str(), 0), 0);
  ASSERT_EQ(chmod(own_.c_str(), 0), 0);

  std::string cut;
  if (!os::RunAsRootWith({}, [&] { cut = Cut(); })) cut = Cut();
  EXPECT_EQ(cut, fmt::format("cannot open a directory in it: Permission denied; {}", kDone));
  EXPECT_EQ(There(), Names{kRegion});
  EXPECT_EQ(os::Inspect(own_).value().mode, 0777U);
}

TEST_F(GrantSpaceTest, WhereSomethingStaysThatIsSaid) {
  if (geteuid() != 0) GTEST_SKIP() << "another user's files can be made by root alone";
  ASSERT_TRUE(os::MakeDirectories(In("a"), 0755));
  Write("log", 20 * kMiB);
  Write("a/log", 1);
  if (chown(In("a").c_str(), 12345, 0) != 0) GTEST_SKIP() << "this root may give no file away";

  std::string cut;
  os::RunAsRootWith({}, [&] { cut = Cut(); });
  EXPECT_EQ(
      cut,
      "20 MiB in 4 files, with a limit of 16 MiB; not everything could be removed: cannot remove " +
          In("a/log") + ": Permission denied");
  EXPECT_EQ(There(), (Names{kRegion, "a"}));
}

TEST_F(GrantSpaceTest, ALookTellsWhoseDirectoryWasCutAndWhatAllTake) {
  Hold("uid-2", "other", {Share(0, 1)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Write("log", 20 * kMiB);
  const std::string aside = directory_ + "/usr/local/vgpu/containers/.ended-x";
  ASSERT_TRUE(os::MakeDirectories(aside, 0700));
  ASSERT_TRUE(os::ReplaceFile(aside + "/log", std::string(kMiB, 'x')));

  const auto seen = binder_->LookAtSpace({directory_ + "/usr/local/vgpu/containers"});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->cuts.size(), 1U);
  EXPECT_EQ(seen->cuts[0].grant, kOne);
  EXPECT_EQ(seen->cuts[0].record->container, "app");
  EXPECT_EQ(seen->cuts[0].directory, seen->cuts[0].record->directory);
  EXPECT_EQ(seen->cuts[0].what,
            fmt::format("20 MiB in 2 files, with a limit of 16 MiB; {}", kDone));
  EXPECT_GE(seen->bytes, kMiB);
  EXPECT_LT(seen->bytes, 16 * kMiB);
  EXPECT_TRUE(binder_->LookAtSpace()->cuts.empty());

  const std::string locks = std::string("/usr/local/vgpu/locks/") + kOne;
  ASSERT_TRUE(os::MakeDirectories(directory_ + locks, 0777));
  ASSERT_TRUE(os::ReplaceFile(directory_ + locks + "/log", std::string(20 * kMiB, 'x')));
  const auto again = binder_->LookAtSpace();
  ASSERT_EQ(again->cuts.size(), 1U);
  EXPECT_EQ(again->cuts[0].directory, locks);
}

// One check per directory; one of them waits for the container.
TEST_F(GrantSpaceTest, AContainerThatHoldsAFileKeepsNoOthersDirectoryFromBeingCut) {
  Hold("uid-2", "other", {Share(0, 1)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  const std::string others = directory_ + "/usr/local/vgpu/containers/" + kOther + "/log";
  ASSERT_TRUE(os::ReplaceFile(others, std::string(20 * kMiB, 'x')));
  Write("log", 20 * kMiB);
  std::optional<os::HeldFile> held(std::in_place, In("log"));
  if (!held->is_held()) GTEST_SKIP() << "this user may not let a write wait";

  std::vector<std::optional<GrantSpace::SpaceReport>> seen(2);
  std::vector<std::thread> looks;
  looks.reserve(seen.size());
  for (auto& one : seen) looks.emplace_back([&] { one = binder_->LookAtSpace(); });
  const Steady until = SystemClock().Now() + Duration(30'000);
  while (os::Exists(others) && SystemClock().Now() < until) sched_yield();
  EXPECT_FALSE(os::Exists(others));
  EXPECT_TRUE(os::Exists(In("log")));

  held.reset();
  std::multiset<std::string> cut;
  for (std::thread& look : looks) look.join();
  for (const auto& one : seen) {
    ASSERT_TRUE(one);
    for (const GrantSpace::Cut& each : one->cuts) cut.insert(each.grant);
  }
  EXPECT_EQ(cut, (std::multiset<std::string>{kOne, kOther}));
}

}  // namespace
}  // namespace tessera
