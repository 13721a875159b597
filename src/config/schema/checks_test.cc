// SPDX-License-Identifier: Apache-2.0
#include "config/schema/checks.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::config {
namespace {

TEST(Checks, PathsAreAbsoluteAndDoNotClimb) {
  EXPECT_FALSE(CheckAbsolutePath("/dev/..data/x"));
  EXPECT_TRUE(CheckAbsolutePath(""));
  EXPECT_TRUE(CheckAbsolutePath("dev/x"));
  EXPECT_TRUE(CheckAbsolutePath("/dev/../etc"));
  EXPECT_TRUE(CheckAbsolutePath("/dev/.."));
}

TEST(Checks, PermissionsAreLettersOfRwmOnceEach) {
  for (const char* good : {"r", "w", "m", "rw", "rwm", "mr"}) {
    EXPECT_FALSE(CheckPermissions(good)) << good;
  }
  for (const char* bad : {"", "x", "rx", "rr", "RW"}) EXPECT_TRUE(CheckPermissions(bad)) << bad;
}

TEST(Checks, CdiKindsHaveTwoPartsOfTwoLetters) {
  for (const char* good : {"ab/cd", "dummy.com/npu", "my-vendor.io/big_gpu", "a1/b2"}) {
    EXPECT_FALSE(CheckCdiKind(good)) << good;
  }
  for (const char* bad : {"", "ab", "a/npu", "dummy.com/n", "1a/npu", "dummy.com/",
                          "dummy.com-/npu", "dummy.com/np.u", "a b/npu", "ab/cd/ef"}) {
    EXPECT_TRUE(CheckCdiKind(bad)) << bad;
  }
}

TEST(Checks, VariablesAreNamedAsShellsWantIt) {
  for (const char* good : {"A", "_a", "DUMMY_0"}) EXPECT_FALSE(CheckEnvironmentName(good)) << good;
  for (const char* bad : {"", "0A", "A-B", "A=B", "A B"}) {
    EXPECT_TRUE(CheckEnvironmentName(bad)) << bad;
  }
}

TEST(Checks, AnnotationPrefixesBeginAKey) {
  for (const char* good :
       {"", "cdi.k8s.io/", "cdi.k8s.io/tessera_", "my-org.com/a.b-c_", "name_"}) {
    EXPECT_FALSE(CheckAnnotationPrefix(good)) << good;
  }
  const std::string long_one = "cdi.k8s.io/" + std::string(33, 'a');
  for (const char* bad : {"/a", "a b/", "cdi.k8s.io/_a", "cdi.k8s.io/a/b", "-", long_one.c_str()}) {
    EXPECT_TRUE(CheckAnnotationPrefix(bad)) << bad;
  }
}

TEST(Checks, SocketPrefixesAreFileNames) {
  for (const char* good : {"tessera", "t-1_x.y"}) EXPECT_FALSE(CheckSocketPrefix(good)) << good;
  const std::string long_one(33, 'a');
  for (const char* bad : {"", ".", "..", "a/b", "a b", long_one.c_str()}) {
    EXPECT_TRUE(CheckSocketPrefix(bad)) << bad;
  }
}

TEST(Checks, HttpAddressesHaveHostAndPort) {
  for (const char* good : {"off", "127.0.0.1:0", "[::1]:9440", ":9440", "0.0.0.0:65535"}) {
    EXPECT_FALSE(CheckHttpAddress(good)) << good;
  }
  for (const char* bad : {"", "on", "9440", "127.0.0.1", ":65536", ":-1", "::1:9440",
                          "[127.0.0.1]:1", "localhost:1", ":", ":0x10"}) {
    EXPECT_TRUE(CheckHttpAddress(bad)) << bad;
  }
}

TEST(Checks, ConditionsAreOneWordAndNoneOfKubelets) {
  for (const char* good : {"off", "DevicesUnhealthy", "GPU2Unhealthy"}) {
    EXPECT_FALSE(CheckConditionType(good)) << good;
  }
  const std::string long_one(64, 'a');
  for (const char* bad : {"", "Ready", "DiskPressure", "a b", "a/b", "a-b", long_one.c_str()}) {
    EXPECT_TRUE(CheckConditionType(bad)) << bad;
  }
}

}  // namespace
}  // namespace tessera::config
