// SPDX-License-Identifier: Apache-2.0
// A program with more rights than its caller (AT_SECURE). Its caller controls environment and
// files, but must not disable the limits by them. The tests run as root in a mount namespace of
// their own. It has a copy of /etc, as the loader preloads such a program only by ld.so.preload.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

constexpr uid_t kNobody = 65534;
// Where user nobody sees the node's directory, whose parents may be closed to other users.
constexpr char kSeen[] = "/run/node";

class SecureTest : public LimitTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root makes programs that have root's rights";
    if (!Output("unshare -m true 2>&1").empty()) GTEST_SKIP() << "may not make a mount namespace";
    if (!Output("setpriv --version > /dev/null 2>&1").empty()) GTEST_SKIP() << "no setpriv";
    umask(022);  // user nobody reads what is written here
    std::filesystem::create_directories(place_ + "/driver");
    std::filesystem::copy_file(CudaNode::LibraryPath(), place_ + "/driver/libcuda.so.1");
    // The fake driver keeps its state there for every user.
    std::filesystem::permissions(node_.directory(), std::filesystem::perms(0755));
    ASSERT_EQ(chown(node_.directory().c_str(), kNobody, kNobody), 0);
    for (const auto& entry : std::filesystem::directory_iterator(node_.directory())) {
      ASSERT_EQ(chown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    for (const char* name : {"limit_bare", "limit_secure"}) {
      const std::string copy = place_ + "/" + name;
      std::filesystem::copy_file(std::string(PROGRAMS) + "/limit_bare", copy);
      std::filesystem::permissions(copy,
                                   std::filesystem::perms(copy.ends_with("secure") ? 04755 : 0755));
    }
  }

  // Writes the limits file. Its region is in a directory that every user may write.
  void Limit() {
    std::ofstream(place_ + "/limits")
        << "tessera-limits 1\ndevice " << kUuid << " memory=1073741824\nregion=" << kSeen
        << "/secure/vgpu/a.cache\n";
    std::filesystem::create_directories(place_ + "/vgpu");
    std::filesystem::permissions(place_ + "/vgpu", std::filesystem::perms(0777));
  }
  std::string Region() const { return place_ + "/vgpu/a.cache"; }

  // Runs the command of sh's as user nobody, with the library in ld.so.preload and the driver on
  // the loader's own path.
  std::string AsNobody(const std::string& command) const {
    std::ofstream(place_ + "/script")
        << "set -e\n"
        << "umask 022\n"
        << "cp -a /etc " << place_ << "/etc\n"
        << "mount --bind " << place_ << "/etc /etc\n"
        << "mount -t tmpfs none /run && mkdir -p /run/tessera/vgpu " << kSeen << "\n"
        << "mount --bind " << node_.directory() << " " << kSeen << "\n"
        << "echo " << kSeen << "/secure/driver > /etc/ld.so.conf.d/0.conf\n"
        << "ldconfig\n"
        << "for file in limits no-limits; do\n"
        << "if [ -e " << kSeen << "/secure/$file ]; then install -m 0644 " << kSeen
        << "/secure/$file /run/tessera/vgpu; fi\n"
        << "done\n"
        << "install -m 0755 '" << Libvgpu() << "' /run/libvgpu.so\n"
        << "echo /run/libvgpu.so > /etc/ld.so.preload\n"
        << "exec setpriv --reuid=" << kNobody << " --clear-groups sh " << kSeen
        << "/secure/command\n";
    std::ofstream(place_ + "/command")
        << "exec env TESSERA_FAKE_CUDA=" << kSeen << " TESSERA_FAKE_NVML=" << kSeen
        << "/fake-nvml.yaml TESSERA_FAKE_CUDA_OPTIONS=context-mib=0 " << command << "\n";
    return Output("unshare -m sh " + place_ + "/script 2>&1");
  }
  // Runs the named program, which takes pieces of 100 MiB.
  std::string Takes(const std::string& name, const std::string& meanwhile = "true") const {
    return Seen(name) + " proc 104857600 100 '" + meanwhile + "'";
  }

  static std::string Seen(const std::string& name) { return kSeen + ("/secure/" + name); }

  const std::string place_ = node_.directory() + "/secure";
};

TEST_F(SecureTest, TheLimitsFileHoldsForItAndNothingElseSaysAnything) {
  Limit();
  EXPECT_EQ(AsNobody("CUDA_DEVICE_MEMORY_LIMIT_0=8g LIBCUDA_LOG_LEVEL=4 "
                     "CUDA_DEVICE_MEMORY_SHARED_CACHE=" +
                     Seen("vgpu/b.cache ") + Takes("limit_secure")),
            kGranted);
}

TEST_F(SecureTest, ItNeitherOpensNorMakesARegion) {
  Limit();
  AsNobody(Takes("limit_secure"));
  EXPECT_TRUE(std::filesystem::is_empty(place_ + "/vgpu"));
}

TEST_F(SecureTest, WhatItHoldsIsCountedForItAlone) {
  Limit();
  // A program with its caller's rights makes the region and holds all of it.
  const std::string holder = Takes("limit_bare", Seen("limit_secure") + " proc 104857600 4 true");
  EXPECT_EQ(AsNobody(holder),
            "4 x 104857600, then 0; free 654311424 of 1073741824; device 1073741824\n" +
                std::string(kGranted));
  EXPECT_TRUE(std::filesystem::exists(Region()));
}

TEST_F(SecureTest, TheEnvironmentAloneLimitsNothing) {
  EXPECT_EQ(AsNobody(kLimit + "CUDA_DEVICE_MEMORY_SHARED_CACHE=" + Seen("b.cache ") +
                     Takes("limit_secure")),
            "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n");
}

TEST_F(SecureTest, WhereThatIsClosedItGetsNoMemoryForItCannotBeCountedWithTheOthers) {
  Limit();
  std::ofstream(place_ + "/no-limits") << "closed\n";
  EXPECT_EQ(AsNobody(Takes("limit_secure")), "retain: 2\n (status 256)");
}

TEST_F(SecureTest, AProgramWithItsCallersRightsIsNone) {
  EXPECT_EQ(AsNobody(kLimit + "CUDA_DEVICE_MEMORY_SHARED_CACHE=" + Seen("none/b.cache ") +
                     Takes("limit_bare")),
            kGranted);
}

}  // namespace
}  // namespace tessera::limiter
