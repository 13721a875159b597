// SPDX-License-Identifier: Apache-2.0
#include "cli/vgpu_list.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "binding/binding_store.h"
#include "os/fd.h"
#include "os/waiting_test.h"
#include "region/region_test.h"

namespace tessera::cli {
namespace {

using region::kGpu;
using region::kMib;
using region::TestRegion;

constexpr char kGrant[] = "0123456789abcdef0123456789abcdef";

class VgpuListTest : public testing::Test {
 protected:
  VgpuListTest() {
    sources_.root = os::Root(directory_);
    sources_.directories = {"/vgpu"};
    sources_.state_dir = directory_ + "/state";
    sources_.measured = Duration(0);
  }
  ~VgpuListTest() override { (void)os::RemoveTree(directory_); }

  std::string Path(const std::string& path) const { return directory_ + path; }
  void Write(const std::string& path, const std::string& bytes) {
    const std::string file = Path(path);
    EXPECT_TRUE(os::MakeDirectories(file.substr(0, file.rfind('/')), 0755));
    EXPECT_TRUE(os::ReplaceFile(file, bytes, 0644));
  }
  void Record(const std::string& grant, const std::string& directory) {
    const BindingRecord record{.resource = "nvidia.com/gpu",
                               .pod_uid = "uid-1",
                               .container = "app",
                               .directory = directory,
                               .parts = {{kGpu, 2048, 30}}};
    Write("/state/grants/" + grant + ".json", BindingRecordText(record));
  }
  std::vector<VgpuContainer> List() { return ListVgpus(sources_).value(); }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "vgpus");
  VgpuSources sources_;
  TestRegion region_{{{kGpu, 2048 * kMib, 30}}};
};

TEST_F(VgpuListTest, OnANodeWithoutAnyThereIsNobody) {
  EXPECT_TRUE(List().empty());
}

TEST_F(VgpuListTest, AGrantIsItsPodsAndContainersByItsRecord) {
  Record(kGrant, std::string("/vgpu/containers/") + kGrant);
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  const std::string file = std::string("/vgpu/containers/") + kGrant + "/" + kGrant + ".cache";
  Write(file, region_.Bytes());

  const auto list = List();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].pod, "uid-1");
  EXPECT_EQ(list[0].container, "app");
  EXPECT_EQ(list[0].grant, kGrant);
  EXPECT_EQ(list[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(list[0].parts, (std::vector<Fraction>{{kGpu, 2048, 30}}));
  EXPECT_EQ(list[0].file, file);
  EXPECT_EQ(list[0].problem, std::nullopt);
  EXPECT_EQ(list[0].region.devices[0].used, 600 * kMib);
}

TEST_F(VgpuListTest, ADirectoryOfHamisIsNamedByItsPodAndContainer) {
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  Write("/vgpu/containers/uid-2_trainer/5f.cache", region_.HamiBytes());

  const auto list = List();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].pod, "uid-2");
  EXPECT_EQ(list[0].container, "trainer");
  EXPECT_EQ(list[0].grant, "");
  EXPECT_EQ(list[0].file, "/vgpu/containers/uid-2_trainer/5f.cache");
  EXPECT_EQ(list[0].region.maker, region::Maker::kHamiCore);
  EXPECT_EQ(list[0].alive, (std::vector<std::optional<bool>>{std::nullopt}));
}

TEST_F(VgpuListTest, WhatEndedContainersLeftIsNobodys) {
  Write("/vgpu/containers/.ended-uid-2_trainer/5f.cache", region_.HamiBytes());
  EXPECT_TRUE(List().empty());
}

TEST_F(VgpuListTest, OneThatIsBrokenCostsNoOther) {
  Write("/vgpu/containers/uid-1_a/a.cache", "something else");
  Write("/vgpu/containers/uid-2_b/b.cache", region_.Bytes());
  Write("/vgpu/containers/uid-3_c/c.cache", region_.Bytes(7000));
  ASSERT_TRUE(os::MakeDirectories(Path("/vgpu/containers/uid-4_d"), 0755));
  Write("/state/grants/" + std::string(kGrant) + ".json", "{}");

  const auto list = List();
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].grant, kGrant);
  EXPECT_EQ(list[0].problem->reason, Reason::kGrantUnknown);
  EXPECT_EQ(list[1].problem,
            (Error{Reason::kBadRegion, "it is not a region, or was never completed"}));
  EXPECT_EQ(list[2].problem, std::nullopt);
  EXPECT_EQ(
      list[3].problem,
      (Error{Reason::kBadRegion, "it is truncated, or from a HAMi-core before 1.2: 7000 bytes"}));
  EXPECT_EQ(list[4].problem, (Error{Reason::kNotFound,
                                    "no region yet: no process of the container has used a GPU, or "
                                    "none has loaded the limiting library"}));
}

// A process that removes a file waits for its writer, and holds the directory's lock until then.
TEST_F(VgpuListTest, AContainerThatKeepsItsDirectoryFromBeingReadCostsNoOther) {
  const std::string file = Path("/vgpu/containers/uid-1_app/5f.cache");
  Write("/vgpu/containers/uid-1_app/5f.cache", region_.HamiBytes());
  Write("/vgpu/containers/uid-2_app/5f.cache", region_.HamiBytes());
  std::optional<os::HeldFile> held(std::in_place, file);
  if (!held->is_held()) GTEST_SKIP() << "this user may not let a write wait";
  const os::WaitingCall removal([&] { (void)os::RemoveFile(file); }, 'D');

  const auto list = List();
  held.reset();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].problem, (Error{Reason::kTimedOut, "its directory does not answer within 2s"}));
  EXPECT_EQ(list[1].problem, std::nullopt);
}

TEST_F(VgpuListTest, WhoMayNotReadTheRecordsIsToldSo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  Record(kGrant, std::string("/vgpu/containers/") + kGrant);
  ASSERT_EQ(chmod(Path("").c_str(), 0711), 0);
  ASSERT_EQ(chmod(Path("/state").c_str(), 0700), 0);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(seteuid(kNobody), 0);
  const auto list = ListVgpus(sources_);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().reason, Reason::kPermission);
}

TEST_F(VgpuListTest, AGrantWhoseDirectoryIsElsewhereIsFoundByItsRecord) {
  Record(kGrant, "/former/containers/x");
  Write(std::string("/former/containers/x/") + kGrant + ".cache", region_.Bytes());
  const auto list = List();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].problem, std::nullopt);
}

TEST_F(VgpuListTest, WhoHasNoLockIsGone) {
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  region_.Hold(1, 18, 0, 600 * kMib, 0);
  Write("/vgpu/containers/uid-1_a/a.cache", region_.Bytes());
  const os::Fd owner(open(Path("/vgpu/containers/uid-1_a/a.cache").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = region::LockOf(1);
  lock.l_len = 1;
  ASSERT_EQ(fcntl(owner.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_EQ(List()[0].alive, (std::vector<std::optional<bool>>{false, true}));
}

TEST_F(VgpuListTest, WhoEndedWellHoldsNothingThoughNobodyGaveItBack) {
  region_.Hold(0, 17, 0, 600 * kMib, 0);
  region_.Hold(1, 18, 0, 200 * kMib, 0);
  region_->hami.slots[0].status = 0;
  Write("/vgpu/containers/uid-1_a/a.cache", region_.Bytes());
  const auto list = List();
  EXPECT_EQ(list[0].region.devices[0].used, 200 * kMib);
  EXPECT_EQ(list[0].region.processes[0].held, std::vector<region::ProcessUsage>());
  EXPECT_EQ(list[0].region.processes[1].held.size(), 1U);
}

TEST_F(VgpuListTest, WhatIsChargedMeanwhileIsWhatTheContainerGot) {
  const std::string file = "/vgpu/containers/uid-1_a/a.cache";
  region_.Charge(0, 5'000'000'000);
  Write(file, region_.Bytes());
  EXPECT_EQ(List()[0].got, (std::vector<std::optional<double>>{std::nullopt}));

  sources_.measured = Duration(400);
  sources_.wait = [this, &file](Duration span) {
    region_.Charge(0, 5'100'000'000);
    const std::string bytes = region_.Bytes();
    const os::Fd writer(open(Path(file).c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(pwrite(writer.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    Sleep(span);
  };
  const auto list = List();
  // 100 ms of 400, or of a little more.
  ASSERT_TRUE(list[0].got[0].has_value());
  EXPECT_LE(*list[0].got[0], 25);
  EXPECT_GT(*list[0].got[0], 1);
}

}  // namespace
}  // namespace tessera::cli
