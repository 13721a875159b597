// SPDX-License-Identifier: Apache-2.0
#include "backend/file/group.h"

#include <gtest/gtest.h>

namespace tessera::file {
namespace {

using Devices = std::vector<Members>;
using Matches = std::vector<std::vector<std::string>>;

TEST(GroupTest, EveryMatchOfOnePatternIsADevice) {
  const FileConfig::Group group{{{.pattern = "/dev/ttyUSB*"}}};

  EXPECT_EQ(Combine(group, {{"/dev/ttyUSB0", "/dev/ttyUSB1"}}),
            (Devices{{{0, "/dev/ttyUSB0"}}, {{0, "/dev/ttyUSB1"}}}));
}

TEST(GroupTest, NoMatchIsNoDevice) {
  EXPECT_EQ(Combine({{{.pattern = "/dev/ttyUSB*"}}}, {{}}), Devices{});
  EXPECT_EQ(Combine({{{.pattern = "/dev/kvm"}}}, {{}}), Devices{});
}

TEST(GroupTest, FilesPairByTheTextOfTheirStar) {
  const FileConfig::Group group{{{.pattern = "/dev/ttyUSB*"}, {.pattern = "/dev/ttyUSB*_ctl"}}};

  // The control file of 0 matches the first pattern too; nothing pairs with it.
  const Devices devices =
      Combine(group, {{"/dev/ttyUSB0", "/dev/ttyUSB0_ctl", "/dev/ttyUSB1", "/dev/ttyUSB2"},
                      {"/dev/ttyUSB0_ctl", "/dev/ttyUSB2_ctl"}});

  EXPECT_EQ(devices, (Devices{{{0, "/dev/ttyUSB0"}, {1, "/dev/ttyUSB0_ctl"}},
                              {{0, "/dev/ttyUSB2"}, {1, "/dev/ttyUSB2_ctl"}}}));
}

TEST(GroupTest, OtherWildcardsPairByOrder) {
  const FileConfig::Group group{{{.pattern = "/dev/a?"}, {.pattern = "/dev/b*"}}};

  EXPECT_EQ(Combine(group, {{"/dev/a3", "/dev/a7"}, {"/dev/b1", "/dev/b2", "/dev/b3"}}),
            (Devices{{{0, "/dev/a3"}, {1, "/dev/b1"}}, {{0, "/dev/a7"}, {1, "/dev/b2"}}}));
}

TEST(GroupTest, APathWithoutWildcardsBelongsToEveryDevice) {
  const FileConfig::Group group{
      {{.pattern = "/dev/infiniband/rdma_cm"}, {.pattern = "/dev/infiniband/uverbs*"}}};

  EXPECT_EQ(Combine(group, {{"/dev/infiniband/rdma_cm"},
                            {"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"}}),
            (Devices{{{1, "/dev/infiniband/uverbs0"}, {0, "/dev/infiniband/rdma_cm"}},
                     {{1, "/dev/infiniband/uverbs1"}, {0, "/dev/infiniband/rdma_cm"}}}));
}

TEST(GroupTest, WithoutARequiredFileThereIsNoDevice) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"}, {.pattern = "/dev/control"}}};

  EXPECT_EQ(Combine(group, {{"/dev/a0"}, {}}), Devices{});
}

TEST(GroupTest, AnOptionalFileMayBeMissing) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"}, {.pattern = "/dev/b*", .optional = true}}};

  EXPECT_EQ(Combine(group, {{"/dev/a0", "/dev/a1"}, {"/dev/b1"}}),
            (Devices{{{0, "/dev/a0"}}, {{0, "/dev/a1"}, {1, "/dev/b1"}}}));
}

TEST(GroupTest, PathsWithoutWildcardsAreOneDevice) {
  const FileConfig::Group group{{{.pattern = "/dev/kvm"}, {.pattern = "/dev/vhost-net"}}};

  EXPECT_EQ(Combine(group, {{"/dev/kvm"}, {"/dev/vhost-net"}}),
            (Devices{{{0, "/dev/kvm"}, {1, "/dev/vhost-net"}}}));
}

TEST(GroupTest, OptionalPathsAloneAreADeviceOnceOneIsThere) {
  const FileConfig::Group group{
      {{.pattern = "/dev/a*", .optional = true}, {.pattern = "/dev/b", .optional = true}}};

  EXPECT_EQ(Combine(group, {{}, {}}), Devices{});
  EXPECT_EQ(Combine(group, {{"/dev/a0", "/dev/a1"}, {}}), (Devices{{{0, "/dev/a0"}}}));
}

}  // namespace
}  // namespace tessera::file
