// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/flags.h"

#include <gtest/gtest.h>

namespace tessera::config::rdma_shared {
namespace {

using Words = std::vector<std::string>;

TEST(RdmaSharedFlags, ThoseOfThePluginsManifestsAreTaken) {
  const GoCommandLine line = ParseFlags(
      Words{"-config-file=/a.json", "--logtostderr=true", "-alsologtostderr", "-v", "-version"});

  EXPECT_EQ(Text(line.errors) + Text(line.warnings), "");
  EXPECT_EQ(line.ValueOf("config-file", kFile), "/a.json");
}

TEST(RdmaSharedFlags, CdiHasNoEffectAndIsTold) {
  EXPECT_EQ(Text(ParseFlags(Words{"-use-cdi"}).warnings),
            "flag -use-cdi: has no effect: containers get the same nodes from kubelet "
            "[config-bad-value]\n");
  EXPECT_EQ(Text(ParseFlags(Words{"-use-cdi=false"}).warnings), "");
}

}  // namespace
}  // namespace tessera::config::rdma_shared
