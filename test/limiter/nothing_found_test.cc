// SPDX-License-Identifier: Apache-2.0
// The built libvgpu.so in programs without the variables, such as a shell that was opened later.
// They have the limits of the region next to the library, together with the container's other
// processes. The node's policy says what a process without a region gets.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "limiter/contract.h"
#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

constexpr char kWhole[] =
    "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n";
constexpr char kNoGpus[] = "retain: 2\n";

class NothingFoundTest : public LimitTest {
 protected:
  // HAMi's plugin and the agent put the library and the region into the directory that the
  // container writes in.
  void SetUp() override {
    if (std::filesystem::exists(kDefaultRegionPath)) {
      GTEST_SKIP() << "this machine has a region at " << kDefaultRegionPath;
    }
  }
  NothingFoundTest() {
    std::filesystem::create_directory(Hook());
    std::filesystem::copy_file(Libvgpu(), Hook() + "/libvgpu.so");
  }
  std::string Hook() const { return node_.directory() + "/hook"; }
  std::string Region() const { return Hook() + "/a.cache"; }

  // An environment with only the preload and the node's card.
  std::string WithoutVariables() const {
    return "env -i PATH=/usr/bin:/bin " + Environment(Hook() + "/libvgpu.so").substr(4) +
           "env -u CUDA_DEVICE_MEMORY_SHARED_CACHE ";
  }
  std::string WithVariables() const {
    return WithoutVariables() + kLimit + "CUDA_DEVICE_MEMORY_SHARED_CACHE=" + Region() + " ";
  }
  // Output of a program without variables while another one holds six pieces.
  std::string Beside() const {
    const std::string one = std::string(PROGRAMS) + "/limit_bare proc 104857600 100 true";
    return Output(WithVariables() + Program("proc", 6, WithoutVariables() + one) + " | head -n 1");
  }
  // Runs the command with a file that states the policy, on a mount with these options.
  std::string WithPolicy(const std::string& word, const std::string& command,
                         const std::string& options = "ro") const {
    return Output(
        "unshare -m sh -c 'mount -t tmpfs none /run && mkdir -p /run/tessera/vgpu && "
        "echo " +
        word + " > " + kNoLimitsPath + " && mount -o remount," + options + " /run && exec " +
        command + "' | sed -E \"s/(tessera-vgpu)\\[[0-9]+\\]/\\1/\"");
  }
};

TEST_F(NothingFoundTest, AProcessWithoutVariablesSharesTheLimitOfTheRegionBesideTheLibrary) {
  EXPECT_EQ(Beside(), "4 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n");
}

TEST_F(NothingFoundTest, ARegionThatNobodyHasNowLimitsItAsWell) {
  Output(WithVariables() + Program("proc"));
  EXPECT_EQ(Output(WithoutVariables() + Program("linked")), kGranted);
}

TEST_F(NothingFoundTest, ItNeverMakesARegion) {
  EXPECT_EQ(Output(WithoutVariables() + Program("proc")), kWhole);
  EXPECT_FALSE(std::filesystem::exists(Region()));
}

TEST_F(NothingFoundTest, OfSeveralRegionsItTakesNone) {
  Output(WithVariables() + Program("proc"));
  std::filesystem::copy_file(Region(), Hook() + "/b.cache");
  EXPECT_EQ(Output(WithoutVariables() + Program("proc")), kWhole);
}

TEST_F(NothingFoundTest, WhereThatIsClosedItGetsNoMemoryAndIsToldWhy) {
  if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  const std::string program = WithoutVariables() + "LIBCUDA_LOG_LEVEL=1 " + Program("proc");
  EXPECT_EQ(WithPolicy("closed", program),
            "tessera-vgpu: error: memory is denied: " + std::string(kDefaultRegionPath) +
                ": there is no region, and no limits file or variables to make one\n" + kNoGpus);
  EXPECT_EQ(WithPolicy("open", program), kWhole);
  EXPECT_EQ(WithPolicy("ajar", program),
            "tessera-vgpu: error: " + std::string(kNoLimitsPath) +
                ": counts as closed, because it is neither open nor closed: 'ajar'\n"
                "tessera-vgpu: error: memory is denied: " +
                kDefaultRegionPath +
                ": there is no region, and no limits file or variables to make one\n" + kNoGpus);
}

TEST_F(NothingFoundTest, ALibraryThatWasBuiltClosedGivesWhoHasNoLimitsNothing) {
  std::filesystem::copy_file(LIBVGPU_CLOSED, Hook() + "/libvgpu.so",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Output(WithoutVariables() + Program("proc")), kNoGpus + std::string(" (status 256)"));
  EXPECT_EQ(Output(WithVariables() + Program("proc")), kGranted);
}

TEST_F(NothingFoundTest, WhereThatIsClosedWhoSharesTheAccountingGetsItsLimit) {
  if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  EXPECT_EQ(WithPolicy("closed", WithVariables() + Program("proc")), kGranted);
  EXPECT_EQ(WithPolicy("closed", WithoutVariables() + Program("proc")), kGranted);
  std::filesystem::resize_file(Region(), 100);
  EXPECT_EQ(WithPolicy("closed", WithoutVariables() + "LIBCUDA_LOG_LEVEL=1 " + Program("proc")),
            "tessera-vgpu: error: memory is denied: " + Region() +
                ": the region is truncated; remove that file\n" + kNoGpus);
}

}  // namespace
}  // namespace tessera::limiter
