// SPDX-License-Identifier: Apache-2.0
#include "backend/file/pairing.h"

#include <gtest/gtest.h>

namespace tessera::file {
namespace {

using Matches = std::vector<Match>;
using Pairs = std::vector<std::optional<size_t>>;

Matches Named(const std::vector<std::string>& files) {
  Matches matches;
  for (const std::string& file : files) matches.push_back({file});
  return matches;
}

struct Pattern {
  std::string a, b;
  Pairs Pair(const Matches& of_a, const Matches& of_b, const NameRule& rule = {}) const {
    return PairUp({a, of_a}, {b, of_b}, rule);
  }
};

const Pattern kDri{"/dev/dri/card*", "/dev/dri/renderD*"};

TEST(PairingTest, NodesOfOneHardwareMeetInWhateverOrder) {
  const Matches cards = {{"/dev/dri/card0", "", "/sys/x"}, {"/dev/dri/card1", "", "/sys/y"}};
  const Matches renders = {{"/dev/dri/renderD128", "", "/sys/y"},
                           {"/dev/dri/renderD129", "", "/sys/x"}};

  EXPECT_EQ(kDri.Pair(cards, renders), (Pairs{1, 0}));
}

TEST(PairingTest, WhereSomeMeetInHardwareTheOthersPairWithNone) {
  const Matches cards = {{"/dev/dri/card0", "", "/sys/x"}, {"/dev/dri/card1", "", "/sys/y"}};
  const Matches renders = {{"/dev/dri/renderD0", "", "/sys/y"}, {"/dev/dri/renderD1"}};

  EXPECT_EQ(kDri.Pair(cards, renders), (Pairs{std::nullopt, 0}));
}

TEST(PairingTest, WithinOneHardwareTheTextGoesBeforeTheOrder) {
  const Pattern pattern{"/dev/video*", "/dev/media*"};
  const Matches videos = {{"/dev/video0", "", "/sys/x"}, {"/dev/video1", "", "/sys/x"}};

  EXPECT_EQ(pattern.Pair(videos, {{"/dev/media1", "", "/sys/x"}}), (Pairs{std::nullopt, 0}));
  EXPECT_EQ(pattern.Pair(videos, {{"/dev/media7", "", "/sys/x"}}), (Pairs{0, std::nullopt}));
}

TEST(PairingTest, ALinkMeetsWhatItLeadsTo) {
  const Pattern pattern{"/dev/video*", "/dev/v4l/by-id/*"};
  const Matches videos = {{"/dev/video0", "/dev/video0", "/sys/x"},
                          {"/dev/video1", "/dev/video1", "/sys/x"},
                          {"/dev/video2", "/dev/video2", "/sys/y"}};
  const Matches links = {{"/dev/v4l/by-id/cam-a", "/dev/video2", "/sys/y"},
                         {"/dev/v4l/by-id/cam-b", "/dev/video0", "/sys/x"}};

  EXPECT_EQ(pattern.Pair(videos, links), (Pairs{1, std::nullopt, 0}));
}

TEST(PairingTest, OfTwoLinksToOneFileTheFirstIsTaken) {
  const Pattern pattern{"/dev/video*", "/dev/v4l/by-path/*"};

  EXPECT_EQ(pattern.Pair({{"/dev/video0", "/dev/video0"}}, {{"/dev/v4l/by-path/a", "/dev/video0"},
                                                            {"/dev/v4l/by-path/b", "/dev/video0"}}),
            Pairs{0});
}

TEST(PairingTest, AFileThatBothMatchIsNotItsOwnPartner) {
  const Pattern pattern{"/dev/a*", "/dev/a*_ctl"};
  const Matches both = {{"/dev/a0", "/dev/a0", "/sys/x"}, {"/dev/a1_ctl", "/dev/a1_ctl", "/sys/y"}};

  EXPECT_EQ(pattern.Pair(both, {both[1]}), (Pairs{std::nullopt, std::nullopt}));
}

TEST(PairingTest, NamesOfEqualTextMeet) {
  const Pattern pattern{"/dev/a*", "/dev/b*"};

  EXPECT_EQ(pattern.Pair(Named({"/dev/a", "/dev/a1", "/dev/a2"}), Named({"/dev/b", "/dev/b2"})),
            (Pairs{0, std::nullopt, 1}));
}

TEST(PairingTest, WithoutEqualTextsAsManyOfBothPairByOrder) {
  EXPECT_EQ(kDri.Pair(Named({"/dev/dri/card0", "/dev/dri/card1"}),
                      Named({"/dev/dri/renderD128", "/dev/dri/renderD129"})),
            (Pairs{0, 1}));
  EXPECT_EQ(kDri.Pair(Named({"/dev/dri/card0", "/dev/dri/card1"}), Named({"/dev/dri/renderD128"})),
            (Pairs{std::nullopt, std::nullopt}));
}

TEST(PairingTest, WhatIsOptionalDoesNotPairByOrder) {
  const Pattern pattern{"/dev/video*", "/etc/calibration/*.json"};

  EXPECT_EQ(
      pattern.Pair(Named({"/dev/video0"}), Named({"/etc/calibration/1.json"}), {.required = false}),
      Pairs{std::nullopt});
}

TEST(PairingTest, PatternsThatBeginAlikeDoNotPairByOrder) {
  const Pattern pattern{"/dev/ttyUSB*", "/dev/ttyUSB*_ctl"};

  EXPECT_EQ(pattern.Pair(Named({"/dev/ttyUSB1"}), Named({"/dev/ttyUSB2_ctl"})),
            Pairs{std::nullopt});
  EXPECT_EQ(pattern.Pair({{"/dev/ttyUSB1", "", "/sys/x"}}, {{"/dev/ttyUSB2_ctl", "", "/sys/x"}}),
            Pairs{std::nullopt});
}

}  // namespace
}  // namespace tessera::file
