// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "os/files.h"
#include "region/region_test.h"

namespace tessera::cli {
namespace {

using region::kGpu;
using region::kMib;

class VgpuCommandTest : public testing::Test {
 protected:
  VgpuCommandTest() {
    const std::string file = directory_ + "/tessera.yaml";
    EXPECT_TRUE(os::ReplaceFile(file, "version: tessera/v1\n"));
    arguments_.Set("config", file);
    arguments_.Set("root-prefix", directory_);
    arguments_.Set("state-dir", directory_ + "/state");
    arguments_.Set("for", "0s");
    arguments_.Set("output", "table");
  }
  ~VgpuCommandTest() override { (void)os::RemoveTree(directory_); }

  void Put(const std::string& directory) {
    EXPECT_TRUE(os::MakeDirectories(directory_ + directory, 0755));
    const region::TestRegion made({{kGpu, 2048 * kMib, 30}});
    EXPECT_TRUE(os::ReplaceFile(directory_ + directory + "/a.cache", made.Bytes(), 0644));
  }
  void Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = VgpuCommand().run(arguments_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }

  const std::string directory_ = *os::MakeTemporaryDirectory("/tmp/tessera-cli-");
  Arguments arguments_;
  int code_ = -1;
  std::string out_;
  std::string err_;
};

TEST_F(VgpuCommandTest, ShowsWhatIsInTheUsualDirectory) {
  Put("/usr/local/vgpu/containers/uid_app");
  Run();
  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_,
            "CONTAINER  DEVICE            LIMIT   USED  SHARE\n"
            "uid/app    GPU-8a1f1d3c…  2048 MiB  0 MiB   30 %\n");
}

TEST_F(VgpuCommandTest, OrInTheOneThatIsNamed) {
  Put("/opt/vgpu/containers/uid_app");
  arguments_.Set("directory", "/opt/vgpu");
  arguments_.Set("output", "json");
  Run();
  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_NE(out_.find("\"region\": \"/opt/vgpu/containers/uid_app/a.cache\""), out_.npos) << out_;
}

TEST_F(VgpuCommandTest, WithoutAnyItSaysWhyThatMayBe) {
  Run();
  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(out_,
            "no container of this node has a virtual GPU: containers/ below "
            "/usr/local/vgpu is empty, and " +
                directory_ +
                "/state has no record of a grant.\nOtherwise name the agent's configuration by "
                "--config, or the limiting library's directory by --directory; in a container, "
                "mount both directories of the host.\n");
  EXPECT_EQ(err_, "");
}

TEST_F(VgpuCommandTest, ATimeThatIsNoneIsRefused) {
  arguments_.Set("for", "2h");
  Run();
  EXPECT_EQ(code_, kUsage);
  EXPECT_EQ(err_,
            "tessera vgpu: --for takes a time of up to 60s, such as 2s, not '2h'\n"
            "'tessera vgpu --help' says more\n");
}

TEST_F(VgpuCommandTest, AConfigurationWithAnErrorIsTold) {
  EXPECT_TRUE(os::ReplaceFile(directory_ + "/tessera.yaml", "version: tessera/v9\n"));
  Run();
  EXPECT_EQ(code_, kFailed);
  EXPECT_NE(err_.find("tessera/v9"), err_.npos) << err_;
}

}  // namespace
}  // namespace tessera::cli
