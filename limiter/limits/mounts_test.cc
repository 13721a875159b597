// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/mounts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tessera::limiter {
namespace {

constexpr int64_t kPreload = 412;
constexpr int64_t kLimits = 414;

// The mounts of a container whose limits are at this place on its node.
std::string Mounted(const std::string& limits, const std::string& options = "ro,nosuid,relatime",
                    const std::string& device = "254:1",
                    const std::string& preload = "/usr/local/vgpu/ld.so.preload") {
  return "400 300 0:99 / / rw,relatime master:7 - overlay overlay rw,lowerdir=/a\n"
         "401 400 0:5 / /proc rw,nosuid - proc proc rw\n"
         "412 400 254:1 " +
         preload +
         " /etc/ld.so.preload ro,relatime - ext4 /dev/vda1 rw\n"
         "413 400 254:1 /usr/local/vgpu/libvgpu.so.0123456789abcdef /usr/local/vgpu/libvgpu.so "
         "ro,relatime - ext4 /dev/vda1 rw\n"
         "414 400 " +
         device + " " + limits + " /run/tessera/vgpu/limits " + options + " - ext4 /dev/vda1 rw\n";
}

MountOrigin Of(const std::string& mounts, int64_t file = kLimits, int64_t loads = kPreload) {
  return MountOriginOf(Text(mounts.data(), mounts.size()), loads, file, Text("limits"));
}

TEST(Giver, AFileOfAGrantBesideWhatHasTheLibraryLoadedIsTheAgents) {
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits")), MountOrigin::kAgent);
}

// Kubelet keeps their answers and makes such containers again.
TEST(Giver, SoIsOneInTheDirectoryThatAgentsOfBeforeMounted) {
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f")), MountOrigin::kAgent);
}

TEST(Giver, AFileThatWasReplacedSinceIsWhatItWas) {
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits//deleted", "ro", "254:1",
                       "/usr/local/vgpu/ld.so.preload//deleted")),
            MountOrigin::kAgent);
}

TEST(Giver, ItIsSoOnAFileSystemOfTheDirectorysOwn) {
  EXPECT_EQ(Of(Mounted("/limits/7f/limits", "ro", "254:1", "/ld.so.preload")), MountOrigin::kAgent);
}

TEST(Giver, AVolumeOfThePodsIsNot) {
  const std::string volumes = "/var/lib/kubelet/pods/5e/volumes/kubernetes.io~";
  EXPECT_EQ(Of(Mounted(volumes + "empty-dir/v/limits", "rw")), MountOrigin::kOther);
  EXPECT_EQ(Of(Mounted(volumes + "configmap/cm/..2026_11_26/limits")), MountOrigin::kOther);
  EXPECT_EQ(Of(Mounted(volumes + "empty-dir/v/usr/local/vgpu/limits/7f/limits")),
            MountOrigin::kOther)
      << "a directory that is named alike";
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits", "ro", "0:77")), MountOrigin::kOther)
      << "of another file system";
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits", "rw,nosuid")), MountOrigin::kOther);
}

TEST(Giver, NorIsAnythingElseOfTheNodesDirectory) {
  for (const char* root :
       {"/usr/local/vgpu/containers/7f/limits", "/usr/local/vgpu/limits/7f/no-limits",
        "/usr/local/vgpu/limits/7f/a/limits", "/usr/local/vgpu/limits//limits",
        "/usr/local/vgpu/limits", "/usr/local/vgpu/limits/", "/usr/local/vgpu2/limits/7f/limits",
        "/usr/local/vgpu", "/"}) {
    EXPECT_EQ(Of(Mounted(root)), MountOrigin::kOther) << root;
  }
}

TEST(Giver, NorIsTheImagesFile) {
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits"), 400), MountOrigin::kOther);
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits"), 9999), MountOrigin::kOther)
      << "of a mount that nobody lists";
}

TEST(Giver, AFileThatIsNotThereIsHiddenWhereTheAgentMountedOne) {
  EXPECT_EQ(Of(Mounted("/usr/local/vgpu/limits/7f/limits"), -1), MountOrigin::kOther);
  EXPECT_EQ(Of(Mounted("/somewhere/else"), -1), MountOrigin::kUnknown) << "as under HAMi's plugin";
}

TEST(Giver, WhereNothingThatAnAgentMountsHasTheLibraryLoadedNobodyKnows) {
  const std::string elsewhere = Mounted("/somewhere/else");
  EXPECT_EQ(Of(elsewhere, kLimits, -1), MountOrigin::kUnknown);
  EXPECT_EQ(Of(elsewhere, kLimits, 400), MountOrigin::kUnknown) << "it is the image's";
  EXPECT_EQ(Of(elsewhere, kLimits, 9999), MountOrigin::kUnknown);
  EXPECT_EQ(Of(Mounted("/a", "ro", "254:1", "/usr/local/vgpu/preload")), MountOrigin::kUnknown);
}

TEST(Giver, WhatIsNoListOfMountsSaysNothing) {
  for (const char* text : {"", "\n\n", "412", "412 ", "x y z\n", "412 400 254:1\n",
                           "412 400 254:1 ld.so.preload /etc/ld.so.preload ro\n"}) {
    EXPECT_EQ(Of(text), MountOrigin::kUnknown) << text;
  }
}

class MountsTest : public testing::Test {
 protected:
  MountsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "mounts-XXXXXX").string();
    directory_ = mkdtemp(path.data());
  }
  ~MountsTest() override { std::filesystem::remove_all(directory_); }
  std::string Path(const std::string& name) const { return directory_ / name; }

  std::filesystem::path directory_;
};

TEST_F(MountsTest, WithoutAFileThatNamesTheLibraryNothingIsLookedAt) {
  const Mounts mounts(Path("ld.so.preload").c_str(), "/nowhere");
  EXPECT_EQ(mounts.Of(0, "/run/tessera/vgpu/limits"), MountOrigin::kUnknown);
  EXPECT_EQ(mounts.Of(-1, "/run/tessera/vgpu/limits"), MountOrigin::kUnknown);
}

TEST_F(MountsTest, WithOneThatIsNoMountOfItsOwnNobodyKnows) {
  std::ofstream(Path("ld.so.preload")) << "/usr/local/vgpu/libvgpu.so\n";
  const Mounts mounts(Path("ld.so.preload").c_str(), kMountsPath);
  EXPECT_EQ(mounts.Of(0, "/run/tessera/vgpu/limits"), MountOrigin::kUnknown);
}

TEST_F(MountsTest, WhereTheListDoesNotReadNoFileIsTheAgents) {
  std::ofstream(Path("ld.so.preload")) << "/usr/local/vgpu/libvgpu.so\n";
  const Mounts mounts(Path("ld.so.preload").c_str(), "/nowhere");
  EXPECT_EQ(mounts.Of(0, "/run/tessera/vgpu/limits"), MountOrigin::kOther);
  EXPECT_EQ(mounts.Of(-1, "/run/tessera/vgpu/limits"), MountOrigin::kUnknown);
}

}  // namespace
}  // namespace tessera::limiter
