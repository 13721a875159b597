// SPDX-License-Identifier: Apache-2.0
#include "kubelet/root.h"

#include <gtest/gtest.h>

namespace tessera::kubelet {
namespace {

class RootTest : public testing::Test {
 protected:
  ~RootTest() override { (void)os::RemoveTree(dir_); }
  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "root");
};

TEST_F(RootTest, TheFirstUsualPlaceWithKubeletsDirectoriesIsTaken) {
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/var/lib/kubelet"));
  EXPECT_EQ(DetectRoot(os::Root(dir_)), std::nullopt);

  ASSERT_TRUE(os::MakeDirectories(dir_ + "/var/lib/k0s/kubelet/device-plugins"));
  EXPECT_EQ(DetectRoot(os::Root(dir_)), dir_ + "/var/lib/k0s/kubelet");

  ASSERT_TRUE(os::MakeDirectories(dir_ + "/var/lib/kubelet/plugins_registry"));
  EXPECT_EQ(DetectRoot(os::Root(dir_)), dir_ + "/var/lib/kubelet");
}

TEST_F(RootTest, TheSocketIsPreferredUnlessItIsDeprecatedOrAbsent) {
  Directories directories{dir_};
  ASSERT_TRUE(os::MakeDirectories(directories.registry()));
  EXPECT_EQ(PreferredPath(directories), RegistrationPath::kPluginWatcher);

  ASSERT_TRUE(os::MakeDirectories(directories.device_plugins()));
  EXPECT_EQ(PreferredPath(directories), RegistrationPath::kKubeletSocket);

  ASSERT_TRUE(os::WriteFileAtomically(directories.device_plugins() + "/DEPRECATION", ""));
  EXPECT_EQ(PreferredPath(directories), RegistrationPath::kPluginWatcher);
}

TEST_F(RootTest, TheSocketIsPreferredWhereTheRegistryIsNotMounted) {
  Directories directories{dir_};
  ASSERT_TRUE(os::MakeDirectories(directories.device_plugins()));
  ASSERT_TRUE(os::WriteFileAtomically(directories.device_plugins() + "/DEPRECATION", ""));

  EXPECT_EQ(PreferredPath(directories), RegistrationPath::kKubeletSocket);
}

}  // namespace
}  // namespace tessera::kubelet
