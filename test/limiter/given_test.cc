// SPDX-License-Identifier: Apache-2.0
// The built libvgpu.so where the agent mounts a container's limits, and the pod, its image or its
// programs put others in their place. The tests run in a mount namespace of their own with a copy
// of /etc, as ld.so.preload there loads the library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "limiter/contract.h"
#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

constexpr char kNothing[] = "retain: 2\n";

class GivenTest : public LimitTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root mounts what a runtime does";
    if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
    std::filesystem::create_directories(Grant());
    std::ofstream(Node() + "/ld.so.preload") << Libvgpu() << "\n";
    std::ofstream(Grant() + "/limits") << Limits("1073741824");
    std::ofstream(Grant() + "/no-limits") << "closed\n";
    std::filesystem::create_directories(Pod() + "/limits/7f");
    std::ofstream(Pod() + "/limits/7f/limits") << Limits("9663676416");
    std::ofstream(Pod() + "/limits/7f/no-limits") << "open\n";
  }
  static std::string Limits(const std::string& bytes) {
    return std::string("tessera-limits 1\ndevice ") + kUuid + " memory=" + bytes + "\n";
  }
  std::string Node() const { return node_.directory() + "/node"; }
  std::string Grant() const { return Node() + "/limits/7f"; }
  std::string Pod() const { return node_.directory() + "/pod"; }

  // Output of a program in a container with the agent's ld.so.preload and then these mounts. It
  // says why memory is denied.
  std::string After(const std::string& mounts) const {
    const std::string script = node_.directory() + "/script";
    std::ofstream(script) << "set -e\n"
                          << "mount -t tmpfs none /run && mkdir -p /run/tessera/vgpu\n"
                          << "touch /run/tessera/vgpu/limits /run/tessera/vgpu/no-limits\n"
                          << "cp -a /etc /run/etc && mount --bind /run/etc /etc\n"
                          << "give() { mount --bind $1 $2; mount -o remount,bind,ro $2; }\n"
                          << "touch /etc/ld.so.preload\n"
                          << "give " << Node() << "/ld.so.preload /etc/ld.so.preload\n"
                          << mounts << "exec " << Environment() << "LIBCUDA_LOG_LEVEL=1 "
                          << Program("proc") << "\n";
    return Output("unshare -m sh " + script + " | sed -E 's/(tessera-vgpu)\\[[0-9]+\\]/\\1/'");
  }
  // The files as the agent has them mounted.
  std::string Agents() const {
    return "give " + Grant() + "/limits " + kLimitsPath + "\ngive " + Grant() + "/no-limits " +
           kNoLimitsPath + "\n";
  }
  static std::string Denied(const std::string& why) {
    return "tessera-vgpu: error: memory is denied: " + why + "\n" + kNothing;
  }
};

TEST_F(GivenTest, TheFilesThatTheAgentMountsHold) {
  EXPECT_EQ(After(Agents()), kGranted);
}

TEST_F(GivenTest, SoDoesTheDirectoryThatAgentsOfBeforeMounted) {
  EXPECT_EQ(After("give " + Grant() + " /run/tessera/vgpu\n"), kGranted);
}

TEST_F(GivenTest, AVolumeInTheirPlaceGivesNothing) {
  EXPECT_EQ(After(Agents() + "give " + Pod() + "/limits/7f/limits " + kLimitsPath + "\n"),
            Denied(std::string(kLimitsPath) +
                   ": the limits file is from the pod or its image, not from the node"));
  EXPECT_EQ(After(Agents() + "give " + Pod() + "/limits/7f /run/tessera/vgpu\n"),
            Denied(std::string(kLimitsPath) +
                   ": the limits file is from the pod or its image, not from the node"));
}

TEST_F(GivenTest, NothingInTheirPlaceGivesNothing) {
  EXPECT_EQ(
      After(Agents() + "mount -t tmpfs none /run/tessera\n"),
      Denied(std::string(kLimitsPath) + ": the node's limits file is hidden by a mount or a link"));
}

// The container's root may rename a directory, even with a mount below it.
TEST_F(GivenTest, ADirectoryThatWasRenamedAndMadeAnewGivesNothing) {
  EXPECT_EQ(After(Agents() + "mv /run/tessera /run/was && mkdir -p /run/tessera/vgpu\n" + "cp " +
                  Pod() + "/limits/7f/limits " + kLimitsPath + "\n"),
            Denied(std::string(kLimitsPath) +
                   ": the limits file is from the pod or its image, not from the node"));
}

// A process that cannot share the container's accounting has limits of its own, if the policy is
// open.
TEST_F(GivenTest, AFileThatOpensWhatTheNodeClosedIsClosed) {
  std::ofstream(Grant() + "/limits") << Limits("1073741824") << "region=/proc/nowhere/a.cache\n";
  const std::string give = "give " + Grant() + "/limits " + std::string(kLimitsPath) + "\ngive ";
  const std::string denied =
      Denied("/proc/nowhere/a.cache: the region can be neither opened nor made; see its directory");
  EXPECT_EQ(After(give + Grant() + "/no-limits " + kNoLimitsPath + "\n"), denied);
  EXPECT_EQ(After(give + Pod() + "/limits/7f/no-limits " + kNoLimitsPath + "\n"),
            "tessera-vgpu: error: " + std::string(kNoLimitsPath) +
                ": it is from the pod or its image, not from the node; it counts as closed\n" +
                denied);
  std::ofstream(Grant() + "/no-limits") << "open\n";
  EXPECT_EQ(After(give + Grant() + "/no-limits " + kNoLimitsPath + "\n"), kGranted);
}

}  // namespace
}  // namespace tessera::limiter
