// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/chips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "backend/ascend/node_test.h"

namespace tessera::ascend {
namespace {

class ChipsTest : public NodeTest {
 protected:
  dcmi::LibraryPtr Library() { return dcmi::Session::Of(root_)->Open().value(); }
  // "model trouble" of each chip.
  static std::vector<std::string> Told(const Chips& chips) {
    std::vector<std::string> told;
    for (const Chip& chip : chips.chips) {
      told.push_back(chip.trouble ? chip.trouble->message : chip.Model());
    }
    return told;
  }

  static constexpr Duration kLong{10'000};
  ChipReader reader_{root_};
};

TEST_F(ChipsTest, AChipIsAsItsDriverDescribesIt) {
  AscendNode node(directory_, Duo310p());
  const Chips chips = reader_.Read(Library(), kLong).value();
  ASSERT_EQ(chips.chips.size(), 2U);
  EXPECT_EQ(chips.chips[1], (Chip{.place = {3, 1},
                                  .logic = 1,
                                  .physical = 1,
                                  .name = "310P3",
                                  .die = Id(1),
                                  .address = "0000:3b:00.0",
                                  .cores = 8,
                                  .memory = 43'692,
                                  .numa_nodes = {1}}));
  EXPECT_FALSE(chips.dies_together);
}

TEST_F(ChipsTest, ACardThatFailsCostsNoOther) {
  AscendNode node(directory_, Sixteen910c());
  node.Fail("*", 3, -8012);
  const Chips chips = reader_.Read(Library(), kLong).value();
  EXPECT_TRUE(chips.dies_together);
  ASSERT_EQ(chips.chips.size(), 15U);
  EXPECT_EQ(Told(chips)[13], "Ascend910C");
  EXPECT_EQ(Told(chips)[14], "dcmi_get_device_num_in_card: the device is not ready (-8012)");
}

TEST_F(ChipsTest, ACardThatHangsKeepsItsDescription) {
  AscendNode node(directory_, Eight910b3());
  const Chips before = reader_.Read(Library(), kLong).value();
  node.Fail("dcmi_get_device_chip_info_v2", 2, 0);
  EXPECT_EQ(reader_.Read(Library(), Duration(50)).value(), before);
  EXPECT_EQ(reader_.Read(Library(), Duration(50)).value(), before) << "its thread still waits";
  node.Mend();
  EXPECT_EQ(reader_.Read(Library(), kLong).value(), before);
}

TEST_F(ChipsTest, ACardThatHangsFromTheBeginningIsKnownByItsPlace) {
  AscendNode node(directory_, Eight910b3());
  node.Fail("dcmi_get_device_chip_info_v2", 2, 0);
  Chips chips;
  // A busy machine may be late with other cards as well.
  do {
    chips = reader_.Read(Library(), Duration(50)).value();
  } while (std::ranges::count(Told(chips), "Ascend910B3") < 7);
  ASSERT_EQ(chips.chips.size(), 8U);
  EXPECT_EQ(chips.chips[7].place, (dcmi::Place{2, 0}));
  EXPECT_EQ(Told(chips)[7], "DCMI does not answer about the card");
  node.Mend();
  EXPECT_EQ(reader_.Read(Library(), kLong).value().chips[2].trouble, std::nullopt);
}

TEST_F(ChipsTest, AnOldDriverMayLackWhatIsNotNeeded) {
  AscendNode node(directory_, Eight910b3());
  for (const char* lacking : {"dcmi_get_device_die_v2", "dcmi_get_multi_die_policy"}) {
    const std::string directory = directory_ + "/" + lacking;
    AscendNode old(directory, Eight910b3());
    old.InstallDriver(lacking);
    const os::Root root(directory);
    const auto library = dcmi::Session::Of(root)->Open();
    ASSERT_TRUE(library) << library.error().Text();
    const Chips chips = ChipReader(root).Read(*library, kLong).value();
    EXPECT_EQ(Told(chips), std::vector<std::string>(8, "Ascend910B3"));
  }
}

TEST_F(ChipsTest, ADieThatCannotBeReadNowDoesNotChangeTheId) {
  AscendNode node(directory_, Eight910b3());
  const Chips before = reader_.Read(Library(), kLong).value();
  node.Fail("dcmi_get_device_die_v2", 1, -8008);
  EXPECT_EQ(reader_.Read(Library(), kLong).value(), before);
}

TEST_F(ChipsTest, AChipWhoseDieIsNoLongerToldIsTheSame) {
  AscendNode node(directory_, Eight910b3());
  const Chips before = reader_.Read(Library(), kLong).value();
  SimNode changed = node.node();
  changed.chips[1].die = {};
  WriteText(directory_ + kDescriptionPath, TextOf(changed));
  EXPECT_EQ(reader_.Read(Library(), kLong).value(), before);
}

TEST_F(ChipsTest, ADieThatItsCardNoLongerTellsOfStaysInTheList) {
  AscendNode node(directory_, Sixteen910c());
  const Chips before = reader_.Read(Library(), kLong).value();
  node.Unplug(5);
  const Chips now = reader_.Read(Library(), kLong).value();
  ASSERT_EQ(now.chips.size(), 16U);
  EXPECT_EQ(now.chips[15].Id(), Id(5));
  EXPECT_EQ(now.chips[15].trouble, (Error{Reason::kVanished, "its card no longer tells of it"}));
  node.Return(5);
  EXPECT_EQ(reader_.Read(Library(), kLong).value(), before);
}

TEST_F(ChipsTest, DiesGoTogetherUntilTheDriverSaysOtherwise) {
  SimNode sixteen = Sixteen910c();
  sixteen.die_policy = 1;
  AscendNode node(directory_, sixteen);
  node.Fail("dcmi_get_multi_die_policy", -1, -8008);
  EXPECT_TRUE(reader_.Read(Library(), kLong)->dies_together);
  node.Mend();
  EXPECT_FALSE(reader_.Read(Library(), kLong)->dies_together);
  node.Fail("dcmi_get_multi_die_policy", -1, -8008);
  EXPECT_FALSE(reader_.Read(Library(), kLong)->dies_together) << "it has said so";
}

TEST_F(ChipsTest, ADriverThatHangsKeepsWhatItSaidOfTheNode) {
  AscendNode node(directory_, Sixteen910c());
  const Chips before = reader_.Read(Library(), kLong).value();
  node.Fail("dcmi_get_card_list", -1, 0);
  node.Fail("dcmi_get_multi_die_policy", -1, 0);
  const auto while_it_hangs = reader_.Read(Library(), Duration(50));
  EXPECT_EQ(while_it_hangs.value(), before);
  node.Mend();
  EXPECT_EQ(reader_.Read(Library(), kLong).value(), before);
}

TEST_F(ChipsTest, ADriverThatHangsFromTheBeginningIsAnError) {
  AscendNode node(directory_, Eight910b3());
  const dcmi::LibraryPtr library = Library();
  node.Fail("dcmi_get_card_list", -1, 0);
  EXPECT_EQ(reader_.Read(library, Duration(50)).error(),
            (Error{Reason::kTimedOut, "DCMI does not answer about the node's cards"}));
  node.Mend();
  // No reading is waited for twice, and the call still ends.
  while (!reader_.Read(library, kLong)) std::this_thread::yield();
  EXPECT_EQ(reader_.Read(library, kLong)->chips.size(), 8U);
}

TEST_F(ChipsTest, AListOfCardsThatCannotBeReadIsAnError) {
  AscendNode node(directory_, Eight910b3());
  const dcmi::LibraryPtr library = Library();
  node.Fail("dcmi_get_card_list", -1, -8005);
  EXPECT_EQ(
      reader_.Read(library, kLong).error(),
      (Error{Reason::kScanFailed, "dcmi_get_card_list: the driver cannot be reached (-8005)"}));
}

TEST_F(ChipsTest, NumbersThatNoChipHasAreLeftOut) {
  SimNode odd = Duo310p();
  odd.chips[0].cores = 4'000'000'000;
  odd.chips[0].memory = uint64_t{1} << 50;
  odd.chips[1].phy = 2'000'000'000;
  AscendNode node(directory_, odd);
  const Chips chips = reader_.Read(Library(), kLong).value();
  EXPECT_EQ(chips.chips[0].cores, 0U);
  EXPECT_EQ(chips.chips[0].memory, 0);
  EXPECT_EQ(Told(chips)[1], "dcmi_get_device_phyid_from_logicid: a parameter is invalid (-8001)");
}

TEST(ModelOf, IsHamisWord) {
  EXPECT_EQ(ModelOf("910B3"), "Ascend910B3");
  EXPECT_EQ(ModelOf("910B4-1"), "Ascend910B4-1");
  EXPECT_EQ(ModelOf("910ProB"), "Ascend910A");
  EXPECT_EQ(ModelOf("910B"), "Ascend910A") << "an old card";
  EXPECT_EQ(ModelOf("Ascend910"), "Ascend910C");
  EXPECT_EQ(ModelOf("310P3"), "Ascend310P");
  EXPECT_EQ(ModelOf("310B4"), "Ascend310B");
  EXPECT_EQ(ModelOf("310"), "Ascend310");
}

TEST(DieText, IsThatOfNpuSmi) {
  EXPECT_EQ(DieText({{0x42C711D4, 0x20B03704, 0x4A10C8D4, 0x14CC040A, 0xD2102003}}),
            "42C711D4-20B03704-4A10C8D4-14CC040A-D2102003");
  EXPECT_EQ(DieText({}), "");
}

TEST(ParseCpus, LeavesOutWhatIsNoList) {
  EXPECT_EQ(ParseCpus("0-2, 8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(ParseCpus("x,3-,-4,5-999999999,"), std::vector<int>());
}

}  // namespace
}  // namespace tessera::ascend
