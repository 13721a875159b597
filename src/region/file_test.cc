// SPDX-License-Identifier: Apache-2.0
#include "region/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"
#include "os/opened_test.h"
#include "region/region_test.h"

namespace tessera::region {
namespace {

class RegionFileTest : public testing::Test {
 protected:
  RegionFileTest() { EXPECT_TRUE(os::MakeDirectories(Directory(), 0755)); }
  ~RegionFileTest() override { (void)os::RemoveTree(containers_); }

  std::string Directory() const { return containers_ + "/pod_app"; }
  std::string Path(const std::string& name) const { return Directory() + "/" + name; }
  void Write(const std::string& name) {
    const TestRegion made({{kGpu, 2048 * kMib, 30}});
    EXPECT_TRUE(os::ReplaceFile(Path(name), made.Bytes(), 0644));
  }
  Result<File> Open(const std::string& wanted = "") const {
    return File::Open(containers_, "pod_app", wanted);
  }
  // "REASON: message", without the directory's name.
  std::string Trouble(const std::string& wanted = "") const {
    const auto file = Open(wanted);
    if (file) return "";
    std::string message = file.error().message;
    const size_t at = message.find(containers_);
    if (at != std::string::npos) message.replace(at, containers_.size(), "/containers");
    return std::string(ReasonName(file.error().reason)) + ": " + message;
  }

  const std::string containers_ = *os::MakeTemporaryDirectory(testing::TempDir() + "regions");
};

TEST_F(RegionFileTest, TheOneThatIsWantedIsRead) {
  Write("a.cache");
  Write("b.cache");
  const auto file = Open("b.cache");
  EXPECT_EQ(file.value().name(), "b.cache");
  EXPECT_EQ(file->Read().value().devices[0].uuid, kGpu);
}

TEST_F(RegionFileTest, ElseTheFirstThatMayBeOneIs) {
  Write("libvgpu.so");
  Write("b.cache");
  Write("a.cache");
  EXPECT_EQ(Open().value().name(), "a.cache");
  EXPECT_EQ(Open("other.cache").value().name(), "a.cache");
}

TEST_F(RegionFileTest, WithoutOneThatIsSaid) {
  EXPECT_EQ(Trouble(), "not-found: there is no region in /containers/pod_app");
  EXPECT_EQ(Trouble("a.cache"), "not-found: there is no region in /containers/pod_app");
}

TEST_F(RegionFileTest, ADirectoryThatIsNotThereIsSaid) {
  ASSERT_TRUE(os::RemoveTree(Directory()));
  EXPECT_EQ(Trouble(),
            "not-found: cannot open the directory /containers/pod_app: No such file or directory");
}

TEST_F(RegionFileTest, LinksAreNotFollowed) {
  Write("real");
  ASSERT_TRUE(os::ReplaceLink(Path("a.cache"), Path("real")));
  EXPECT_EQ(Trouble(), "bad-region: it is a symbolic link, which is not followed");
  EXPECT_EQ(Trouble("a.cache"), "bad-region: it is a symbolic link, which is not followed");
  ASSERT_TRUE(os::ReplaceLink(containers_ + "/link", Directory()));
  EXPECT_FALSE(File::Open(containers_, "link", "").has_value());
}

TEST_F(RegionFileTest, APipeOrADirectoryIsNoneAndHoldsNobodyUp) {
  ASSERT_EQ(mkfifo(Path("a.cache").c_str(), 0666), 0);
  ASSERT_TRUE(os::MakeDirectories(Path("b.cache"), 0755));
  EXPECT_EQ(Trouble("a.cache"), "bad-region: it is not a regular file");
  EXPECT_EQ(Trouble("b.cache"), "bad-region: it is not a regular file");
}

TEST_F(RegionFileTest, NothingIsOpenedThatIsNone) {
  ASSERT_EQ(mkfifo(Path("a.cache").c_str(), 0666), 0);
  const os::OpenWatch pipe(Path("a.cache"));
  EXPECT_EQ(Trouble("a.cache"), "bad-region: it is not a regular file");
  EXPECT_FALSE(pipe.was_opened());

  if (!os::MakeDevice(Path("b.cache"))) GTEST_SKIP() << "this user may make no device node";
  const os::OpenWatch device(Path("b.cache"));
  EXPECT_EQ(Trouble("b.cache"), "bad-region: it is not a regular file");
  EXPECT_FALSE(device.was_opened());
}

TEST_F(RegionFileTest, NamesLeadNowhereElse) {
  Write("a.cache");
  EXPECT_EQ(Trouble("../pod_app/a.cache"), "bad-region: cannot open it: Invalid cross-device link");
  EXPECT_FALSE(File::Open(containers_, "../", "a.cache").has_value());
}

TEST_F(RegionFileTest, NoMoreIsReadThanARegionHas) {
  Write("a.cache");
  ASSERT_EQ(truncate(Path("a.cache").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(Open()->Read().value().devices[0].uuid, kGpu);
}

TEST_F(RegionFileTest, OneThatIsCutOffWhileItIsOpenIsSaidToBeSo) {
  Write("a.cache");
  const auto file = Open();
  ASSERT_EQ(truncate(Path("a.cache").c_str(), 3), 0);
  EXPECT_EQ(file->Read().error().reason, Reason::kBadRegion);
}

TEST_F(RegionFileTest, TheNameIsTextForATerminal) {
  Write("\033[2J.cache");
  EXPECT_EQ(Open().value().name(), "??2J.cache");
}

TEST_F(RegionFileTest, WhoHasTheLockOfHisSlotLives) {
  Write("a.cache");
  const os::Fd owner(open(Path("a.cache").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = LockOf(3);
  lock.l_len = 1;
  ASSERT_EQ(fcntl(owner.get(), F_OFD_SETLK, &lock), 0);
  const auto file = Open();
  EXPECT_EQ(file->IsAlive(3), true);
  EXPECT_EQ(file->IsAlive(2), false);
  EXPECT_EQ(file->IsAlive(4), false);
}

}  // namespace
}  // namespace tessera::region
