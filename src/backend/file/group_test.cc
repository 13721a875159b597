// SPDX-License-Identifier: Apache-2.0
#include "backend/file/group.h"

#include <gtest/gtest.h>

namespace tessera::file {
namespace {

using Devices = std::vector<Members>;
using Names = std::vector<std::string>;

// Combines files of which only the names are known.
Combined CombineNamed(const FileConfig::Group& group, const std::vector<Names>& names) {
  std::vector<std::vector<Match>> matches;
  for (const Names& of_path : names) {
    matches.emplace_back();
    for (const std::string& name : of_path) matches.back().push_back({name});
  }
  return Combine(group, matches);
}

Devices DevicesOf(const FileConfig::Group& group, const std::vector<Names>& names) {
  return CombineNamed(group, names).devices;
}

TEST(GroupTest, EveryMatchOfOnePatternIsADevice) {
  const FileConfig::Group group{{{.pattern = "/dev/ttyUSB*"}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/ttyUSB0", "/dev/ttyUSB1"}}),
            (Devices{{{0, "/dev/ttyUSB0"}}, {{0, "/dev/ttyUSB1"}}}));
}

TEST(GroupTest, NoMatchIsNoDevice) {
  EXPECT_EQ(DevicesOf({{{.pattern = "/dev/ttyUSB*"}}}, {{}}), Devices{});
  EXPECT_EQ(DevicesOf({{{.pattern = "/dev/kvm"}}}, {{}}), Devices{});
}

TEST(GroupTest, FilesPairByTheTextOfTheirStar) {
  const FileConfig::Group group{{{.pattern = "/dev/ttyUSB*"}, {.pattern = "/dev/ttyUSB*_ctl"}}};

  // The control file of 0 matches the first pattern too; nothing pairs with it.
  const Devices devices =
      DevicesOf(group, {{"/dev/ttyUSB0", "/dev/ttyUSB0_ctl", "/dev/ttyUSB1", "/dev/ttyUSB2"},
                        {"/dev/ttyUSB0_ctl", "/dev/ttyUSB2_ctl"}});

  EXPECT_EQ(devices, (Devices{{{0, "/dev/ttyUSB0"}, {1, "/dev/ttyUSB0_ctl"}},
                              {{0, "/dev/ttyUSB2"}, {1, "/dev/ttyUSB2_ctl"}}}));
}

TEST(GroupTest, OtherWildcardsPairByOrder) {
  const FileConfig::Group group{{{.pattern = "/dev/a?"}, {.pattern = "/dev/b*"}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/a3", "/dev/a7"}, {"/dev/b1", "/dev/b2", "/dev/b3"}}),
            (Devices{{{0, "/dev/a3"}, {1, "/dev/b1"}}, {{0, "/dev/a7"}, {1, "/dev/b2"}}}));
}

TEST(GroupTest, APathWithoutWildcardsBelongsToEveryDevice) {
  const FileConfig::Group group{
      {{.pattern = "/dev/infiniband/rdma_cm"}, {.pattern = "/dev/infiniband/uverbs*"}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/infiniband/rdma_cm"},
                              {"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"}}),
            (Devices{{{1, "/dev/infiniband/uverbs0"}, {0, "/dev/infiniband/rdma_cm"}},
                     {{1, "/dev/infiniband/uverbs1"}, {0, "/dev/infiniband/rdma_cm"}}}));
}

TEST(GroupTest, WithoutARequiredFileThereIsNoDevice) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"}, {.pattern = "/dev/control"}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/a0"}, {}}), Devices{});
}

TEST(GroupTest, AnOptionalFileMayBeMissing) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"}, {.pattern = "/dev/b*", .optional = true}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/a0", "/dev/a1"}, {"/dev/b1"}}),
            (Devices{{{0, "/dev/a0"}}, {{0, "/dev/a1"}, {1, "/dev/b1"}}}));
}

TEST(GroupTest, PathsWithoutWildcardsAreOneDevice) {
  const FileConfig::Group group{{{.pattern = "/dev/kvm"}, {.pattern = "/dev/vhost-net"}}};

  EXPECT_EQ(DevicesOf(group, {{"/dev/kvm"}, {"/dev/vhost-net"}}),
            (Devices{{{0, "/dev/kvm"}, {1, "/dev/vhost-net"}}}));
}

TEST(GroupTest, OptionalPathsAloneAreADeviceOnceOneIsThere) {
  const FileConfig::Group group{
      {{.pattern = "/dev/a*", .optional = true}, {.pattern = "/dev/b", .optional = true}}};

  EXPECT_EQ(DevicesOf(group, {{}, {}}), Devices{});
  EXPECT_EQ(DevicesOf(group, {{"/dev/a0", "/dev/a1"}, {}}), (Devices{{{0, "/dev/a0"}}}));
}

TEST(GroupTest, NodesOfOneCardAreOneDeviceWhateverTheirNumbers) {
  const FileConfig::Group group{{{.pattern = "/dev/dri/card*"}, {.pattern = "/dev/dri/renderD*"}}};
  const std::vector<std::vector<Match>> matches = {
      {{"/dev/dri/card0", "", "/sys/bmc"},
       {"/dev/dri/card1", "", "/sys/gpu1"},
       {"/dev/dri/card2", "", "/sys/gpu2"}},
      {{"/dev/dri/renderD128", "", "/sys/gpu2"}, {"/dev/dri/renderD129", "", "/sys/gpu1"}}};

  const Combined combined = Combine(group, matches);

  EXPECT_EQ(combined.devices, (Devices{{{0, "/dev/dri/card1"}, {1, "/dev/dri/renderD129"}},
                                       {{0, "/dev/dri/card2"}, {1, "/dev/dri/renderD128"}}}));
  EXPECT_EQ(combined.unpaired, Names{"/dev/dri/card0: no file of /dev/dri/renderD* belongs to it"});
}

TEST(GroupTest, FilesThatBelongToNoneAreTold) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"}, {.pattern = "/dev/a*_ctl"}}};

  const Combined combined = CombineNamed(
      group,
      {{"/dev/a0", "/dev/a0_ctl", "/dev/a1", "/dev/a2_ctl"}, {"/dev/a0_ctl", "/dev/a2_ctl"}});

  EXPECT_EQ(combined.devices, (Devices{{{0, "/dev/a0"}, {1, "/dev/a0_ctl"}}}));
  EXPECT_EQ(combined.unpaired, (Names{"/dev/a1: no file of /dev/a*_ctl belongs to it",
                                      "/dev/a2_ctl: no file of /dev/a*_ctl belongs to it"}));
}

TEST(GroupTest, OfADeviceThatLacksAFileTheOthersAreTold) {
  EXPECT_EQ(
      CombineNamed({{{.pattern = "/dev/kvm"}, {.pattern = "/dev/vhost-net"}}}, {{"/dev/kvm"}, {}})
          .unpaired,
      Names{"/dev/kvm: /dev/vhost-net is missing"});
  EXPECT_EQ(
      CombineNamed({{{.pattern = "/dev/a*"}, {.pattern = "/dev/b*"}}}, {{}, {"/dev/b0"}}).unpaired,
      Names{"/dev/b0: it belongs to no file of /dev/a*"});
}

TEST(GroupTest, WhatIsNotNeededIsNotTold) {
  const FileConfig::Group group{{{.pattern = "/dev/a*"},
                                 {.pattern = "/dev/control"},
                                 {.pattern = "/etc/*.json", .optional = true}}};

  EXPECT_EQ(CombineNamed(group, {{}, {"/dev/control"}, {"/etc/1.json"}}).unpaired, Names{});
}

}  // namespace
}  // namespace tessera::file
