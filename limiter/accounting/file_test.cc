// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/file.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "limiter/accounting/container_test.h"
#include "limiter/accounting/locks.h"

namespace tessera::limiter {
namespace {

class RegionFileTest : public Container {
 protected:
  // The state in which a process of the container joins.
  void ExpectTrouble(Trouble trouble, bool gets_memory) {
    InProcess([&] {
      EXPECT_FALSE(JoinWith(limits_));
      EXPECT_EQ(WhyAlone(), trouble) << Meaning(WhyAlone());
      EXPECT_EQ(Reserve(DeviceOf("GPU-aa"), 60 * kMiB, Kind::kData), gets_memory);
      EXPECT_FALSE(Reserve(DeviceOf("GPU-aa"), 60 * kMiB, Kind::kData)) << "its limit holds";
    });
  }
  // The words from the end of HAMi's slots to our own slots. The slots are zeros.
  void WriteTail() {
    const auto region = std::make_unique<Region>();
    MakeRegionOf(limits_, region.get());
    std::fstream file(Path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(Region, hami.proc_num));
    file.write(reinterpret_cast<const char*>(region.get()) + offsetof(Region, hami.proc_num),
               offsetof(Region, accounting.slots) - offsetof(Region, hami.proc_num));
  }
  void WriteRegion(size_t size, void (*change)(Region*) = [](Region*) {}) {
    const auto region = std::make_unique<Region>();
    MakeRegionOf(limits_, region.get());
    change(region.get());
    std::ofstream(Path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(region.get()), static_cast<std::streamsize>(size));
  }
};

TEST_F(RegionFileTest, ANewRegionIsAloneInItsDirectoryAndOpenToAllUsers) {
  const mode_t before = umask(077);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(umask(077), mode_t{077});
  });
  umask(before);
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path(), Path());
    ++entries;
  }
  EXPECT_EQ(entries, 1);
  struct stat status;
  ASSERT_EQ(stat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, mode_t{0666});
  EXPECT_EQ(status.st_size, static_cast<off_t>(kRegionSize));
}

TEST_F(RegionFileTest, ARegionThatIsThereIsNeverReplaced) {
  WriteRegion(kRegionSize);
  struct stat first;
  ASSERT_EQ(stat(Path().c_str(), &first), 0);
  InProcess([&] { EXPECT_TRUE(JoinWith(limits_)); });
  struct stat second;
  ASSERT_EQ(stat(Path().c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

TEST_F(RegionFileTest, AMissingDirectoryLeavesEachProcessItsLimit) {
  std::strcpy(limits_.region, (directory_ / "none" / "x.cache").c_str());
  ExpectTrouble(Trouble::kUnreachable, true);
}

// Otherwise it would have its own limit in addition to the container's.
TEST_F(RegionFileTest, AProcessThatMayOpenNoFileGetsNoMemory) {
  WriteRegion(kRegionSize);
  InProcess([&] {
    const rlimit none{0, 0};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_FALSE(JoinWith(limits_));
    EXPECT_EQ(WhyAlone(), Trouble::kNoRoom) << Meaning(WhyAlone());
    EXPECT_FALSE(Reserve(0, kMiB, Kind::kData));
  });
}

TEST_F(RegionFileTest, AProcessThatMayWriteNoFileThatLargeLivesAndGetsNoMemory) {
  InProcess([&] {
    const rlimit small{4096, 4096};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_FALSE(JoinWith(limits_));
    EXPECT_EQ(WhyAlone(), Trouble::kNoRoom) << Meaning(WhyAlone());
    EXPECT_FALSE(Reserve(0, kMiB, Kind::kData));
  });
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(RegionFileTest, WithoutAPathEachProcessHasItsLimit) {
  limits_.region[0] = '\0';
  ExpectTrouble(Trouble::kNoPath, true);
}

TEST_F(RegionFileTest, ARegionThatMayOnlyBeReadLeavesEachProcessItsLimit) {
  WriteRegion(kRegionSize);
  chmod(Path().c_str(), 0444);
  InProcess([&] {
    if (getuid() == 0) {
      EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
    }
    EXPECT_FALSE(JoinWith(limits_));
    EXPECT_EQ(WhyAlone(), Trouble::kReadOnly);
    EXPECT_TRUE(Reserve(0, 60 * kMiB, Kind::kData));
    EXPECT_FALSE(Reserve(0, 60 * kMiB, Kind::kData));
  });
}

TEST_F(RegionFileTest, WhatIsNoRegionDeniesMemory) {
  std::ofstream(Path()) << "something else, a little longer than a word";
  ExpectTrouble(Trouble::kForeign, false);
}

TEST_F(RegionFileTest, ALinkIsNoRegion) {
  WriteRegion(kRegionSize);
  std::filesystem::rename(Path(), directory_ / "real");
  std::filesystem::create_symlink("real", Path());
  ExpectTrouble(Trouble::kForeign, false);
}

TEST_F(RegionFileTest, ADirectoryOrAPipeIsNoRegion) {
  std::filesystem::create_directory(Path());
  ExpectTrouble(Trouble::kForeign, false);
  std::filesystem::remove(Path());
  ASSERT_EQ(mkfifo(Path().c_str(), 0666), 0);
  ExpectTrouble(Trouble::kForeign, false);
}

TEST_F(RegionFileTest, ARegionCutOffDeniesMemory) {
  WriteRegion(kRegionSize - 1);
  ExpectTrouble(Trouble::kTruncated, false);
  WriteRegion(2);
  ExpectTrouble(Trouble::kTruncated, false);
  WriteRegion(0);
  ExpectTrouble(Trouble::kTruncated, false);
}

// Another container may fill the file system of the regions. The first write to a page would then
// end the program.
TEST_F(RegionFileTest, ARegionWithoutRoomOnItsFileSystemDeniesMemory) {
  if (std::system("unshare -m true 2>/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "may not make a mount namespace";
  }
  InProcess([&] {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount("none", directory_.c_str(), "tmpfs", 0, "size=256k"), 0);
    WriteRegion(offsetof(Region, hami.slots));
    ASSERT_EQ(truncate(Path().c_str(), kRegionSize), 0);
    WriteTail();
    ExpectTrouble(Trouble::kFullDisk, false);
    std::filesystem::remove(Path());
    ExpectTrouble(Trouble::kFullDisk, false);
  });
}

TEST_F(RegionFileTest, WhereAnotherContainerHasTakenAllFilesOfAFileSystemMemoryIsDenied) {
  if (std::system("unshare -m true 2>/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "may not make a mount namespace";
  }
  InProcess([&] {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount("none", directory_.c_str(), "tmpfs", 0, "nr_inodes=2"), 0);
    std::ofstream(directory_ / "other") << "x";
    ExpectTrouble(Trouble::kFullDisk, false);
  });
}

TEST_F(RegionFileTest, HamisOwnRegionLeavesEachProcessItsLimit) {
  WriteRegion(kHamiFileSize);
  ExpectTrouble(Trouble::kOlder, true);
}

TEST_F(RegionFileTest, ARegionOfAnotherVersionLeavesEachProcessItsLimit) {
  WriteRegion(kRegionSize,
              [](Region* region) { region->accounting.version = kAccountingVersion + 1; });
  ExpectTrouble(Trouble::kOtherVersion, true);
  WriteRegion(kRegionSize, [](Region* region) { region->hami.major = 2; });
  ExpectTrouble(Trouble::kOtherVersion, true);
}

TEST_F(RegionFileTest, OneProcessMoreThanThereAreSlotsGetsNoMemory) {
  InProcess([&] { EXPECT_TRUE(JoinWith(limits_)); });
  InProcess([&] {
    // One process that owns them all.
    Region* const region = &Shown();
    Locks locks(region, OwnIdentity(), false);
    locks.Use(open(Path().c_str(), O_RDWR | O_CLOEXEC));
    for (uint32_t slot = 0; slot < kMaxSlots; ++slot) {
      EXPECT_TRUE(locks.Claim(slot));
      region->accounting.slots[slot].owner = OwnIdentity();
    }
    EXPECT_TRUE(locks.Keep());
    ExpectTrouble(Trouble::kFull, false);
    locks.Drop(500);
    InProcess([&] {
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_EQ(OwnSlot(), 500);
    });
  });
}

TEST_F(RegionFileTest, AProcessWithoutLimitsMakesNoRegion) {
  limits_.source = Source::kNone;
  limits_.count = 0;
  InProcess([&] {
    EXPECT_FALSE(JoinWith(limits_));
    EXPECT_EQ(WhyAlone(), Trouble::kNoLimits);
    EXPECT_EQ(DeviceOf("GPU-aa"), -1);
    EXPECT_TRUE(Reserve(-1, kMiB, Kind::kData));
  });
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

// Every reason for which a process keeps its limit where the policy is open.
TEST_F(RegionFileTest, WhereThePolicyIsClosedWhoeverIsAloneGetsNoMemory) {
  limits_.closed = true;
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_)) << "whoever shares the accounting does";
    EXPECT_TRUE(Reserve(DeviceOf("GPU-aa"), 60 * kMiB, Kind::kData));
  });
  WriteRegion(kHamiFileSize);
  ExpectTrouble(Trouble::kOlder, false);
  WriteRegion(kRegionSize,
              [](Region* region) { region->accounting.version = kAccountingVersion + 1; });
  ExpectTrouble(Trouble::kOtherVersion, false);
  WriteRegion(kRegionSize);
  chmod(Path().c_str(), 0444);
  InProcess([&] {
    if (getuid() == 0) {
      EXPECT_EQ(setresuid(65534, 65534, 65534), 0);
    }
    ExpectTrouble(Trouble::kReadOnly, false);
  });
  std::strcpy(limits_.region, (directory_ / "none" / "x.cache").c_str());
  ExpectTrouble(Trouble::kUnreachable, false);
  limits_.region[0] = '\0';
  ExpectTrouble(Trouble::kNoPath, false);
}

TEST_F(RegionFileTest, WhereThePolicyIsClosedAProcessWithoutLimitsGetsNoMemoryAndMakesNoRegion) {
  limits_.closed = true;
  limits_.source = Source::kNone;
  limits_.count = 0;
  ExpectTrouble(Trouble::kNoLimits, false);
  EXPECT_FALSE(std::filesystem::exists(Path()));
  WriteRegion(kRegionSize - 1);
  ExpectTrouble(Trouble::kTruncated, false);
  // The region appeared after the process looked for it.
  limits_.count = 1;
  WriteRegion(kRegionSize);
  limits_.count = 0;
  ExpectTrouble(Trouble::kNoLimits, false);
}

TEST_F(RegionFileTest, EveryTroubleSaysWhatToDoNext) {
  for (int i = 1; i <= static_cast<int>(Trouble::kNoRoom); ++i) {
    EXPECT_GT(std::strlen(Meaning(static_cast<Trouble>(i))), 20u) << i;
  }
}

}  // namespace
}  // namespace tessera::limiter
