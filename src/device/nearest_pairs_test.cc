// SPDX-License-Identifier: Apache-2.0
#include "device/nearest_pairs.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

Device At(const std::string& path, std::optional<int> numa = std::nullopt) {
  Device device;
  device.key = {"a.com/card", path.substr(path.rfind('/') + 1)};
  if (numa) device.numa_nodes = {*numa};
  device.traits = DeviceTraits{.pci_path = path.starts_with("pci") ? path : ""};
  return device;
}

// "0-1 1-0", in the lists' positions.
std::string Paired(const std::vector<Device>& first, const std::vector<Device>& second,
                   size_t shares = 1, const std::vector<DevicePair>& former = {}) {
  std::string all;
  for (const DevicePair& pair : NearestPairs(RefsOf(first), RefsOf(second), shares, former)) {
    all += fmt::format("{}{}-{}", all.empty() ? "" : " ", pair.first, pair.second);
  }
  return all;
}

// A function behind one of four switches, each on a root complex of its own.
std::string Behind(int which, const std::string& port, const std::string& function) {
  return fmt::format("pci000{0}:00/000{0}:00:01.0/000{0}:01:00.0/000{0}:02:{1}.0/000{0}:{2}:00.0",
                     which, port, function);
}

struct FourSwitches {
  std::vector<Device> gpus{};
  std::vector<Device> nics{};
};
FourSwitches Physical() {
  FourSwitches node;
  for (int i = 0; i < 4; ++i) {
    for (const char* function : {"03", "04"}) {
      node.gpus.push_back(At(Behind(i, function, function), i / 2));
    }
    for (const char* function : {"05", "06"}) {
      node.nics.push_back(At(Behind(i, function, function), i / 2));
    }
  }
  return node;
}
// The same node as a virtual machine shows it.
FourSwitches Virtual() {
  FourSwitches node;
  for (int i = 0; i < 8; ++i) {
    node.gpus.push_back(At(fmt::format("pci0000:00/0000:00:{:02x}.0", 16 + i)));
    node.nics.push_back(At(fmt::format("pci0000:00/0000:00:{:02x}.0", 8 + i)));
  }
  return node;
}

constexpr char kEachWithItsOwn[] = "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7";

TEST(NearestPairs, EachGoesWithOneBehindItsSwitch) {
  const FourSwitches node = Physical();

  EXPECT_EQ(Paired(node.gpus, node.nics), kEachWithItsOwn);
  EXPECT_EQ(NearnessOf(node.gpus[0], node.nics[0]), Nearness::kSwitch);
}

TEST(NearestPairs, OnOneRootComplexTheFirstGoesWithTheFirst) {
  const FourSwitches node = Virtual();

  EXPECT_EQ(Paired(node.gpus, node.nics), kEachWithItsOwn);
  EXPECT_EQ(NearnessOf(node.gpus[0], node.nics[0]), Nearness::kComplex);
}

TEST(NearestPairs, TheOrderOfTheListsDoesNotMatter) {
  FourSwitches node = Virtual();
  std::swap(node.gpus[0], node.gpus[7]);

  EXPECT_EQ(Paired(node.gpus, node.nics), "0-7 1-1 2-2 3-3 4-4 5-5 6-6 7-0");
}

TEST(NearestPairs, TheLongerCommonPathIsNearerThanTheFirstAddress) {
  // Two switches below a third one.
  const std::string top = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  const std::vector<Device> gpus = {
      At(top + "0000:02:02.0/0000:09:00.0/0000:0a:00.0/0000:0b:00.0")};
  const std::vector<Device> nics = {
      At(top + "0000:02:01.0/0000:05:00.0"),
      At(top + "0000:02:02.0/0000:09:00.0/0000:0a:01.0/0000:0c:00.0")};

  EXPECT_EQ(Paired(gpus, nics), "0-1");
}

TEST(NearestPairs, TheBusComesBeforeTheNumaNodeAndThatBeforeTheAddress) {
  const std::vector<Device> gpus = {At("pci0000:40/0000:40:01.0/0000:41:00.0", 0),
                                    At("pci0000:80/0000:80:01.0/0000:81:00.0", 1)};
  const std::vector<Device> nics = {At("pci0000:20/0000:20:01.0/0000:21:00.0", 1),
                                    At("pci0000:40/0000:40:02.0/0000:42:00.0", 1)};

  EXPECT_EQ(Paired(gpus, nics), "0-1 1-0");
  EXPECT_EQ(NearnessOf(gpus[0], nics[1]), Nearness::kComplex);
  EXPECT_EQ(NearnessOf(gpus[1], nics[0]), Nearness::kNuma);
  EXPECT_EQ(NearnessOf(gpus[0], nics[0]), Nearness::kUnknown);
}

TEST(NearestPairs, OneWithoutAPartnerIsInNoPair) {
  FourSwitches node = Physical();
  node.nics.resize(2);

  EXPECT_EQ(Paired(node.gpus, node.nics), "0-0 1-1");
  EXPECT_EQ(Paired(node.gpus, {}), "");
}

TEST(NearestPairs, ALostOneCostsItsOwnPairAlone) {
  FourSwitches node = Virtual();
  const std::vector<DevicePair> former = {{0, 0}, {1, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}, {7, 6}};
  node.nics.erase(node.nics.begin() + 2);

  EXPECT_EQ(Paired(node.gpus, node.nics, 1, former), "0-0 1-1 3-2 4-3 5-4 6-5 7-6");
}

TEST(NearestPairs, AFormerPairEndsOnceANearerPartnerIsFree) {
  const FourSwitches node = Physical();

  EXPECT_EQ(Paired({node.gpus[0]}, {node.nics[0], node.nics[7]}, 1, {{{0, 1}}}), "0-0");
}

TEST(NearestPairs, ANearerPartnerForOneOfSeveralEndsThatOnesFormerPairAlone) {
  const FourSwitches node = Physical();
  const std::vector<Device> nics = {node.nics[0], node.nics[6], node.nics[7]};

  EXPECT_EQ(Paired({node.gpus[0], node.gpus[1]}, nics, 1, {{0, 1}, {1, 2}}), "0-0 1-2");
}

TEST(NearestPairs, OneWithADefectKeepsItsPartnerAndGetsNoOther) {
  FourSwitches node = Physical();
  const Error defect{Reason::kUnreadable, "torn"};
  node.nics[0].defect = node.gpus[4].defect = node.gpus[7].defect = defect;
  // Nobody can read where it is.
  for (Device* device : {&node.nics[0], &node.gpus[4], &node.gpus[7]}) device->traits = {};
  const std::vector<DevicePair> former = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}};

  EXPECT_EQ(Paired(node.gpus, node.nics, 1, former), "0-0 1-1 2-2 3-3 4-4 5-5 6-6");
  EXPECT_EQ(Paired(node.gpus, node.nics), "0-1 1-5 2-2 3-3 5-4 6-6");
}

TEST(NearestPairs, AFormerPairDoesNotLoseItsPartnerToANewcomer) {
  const FourSwitches node = Physical();
  // The first and the second of a switch are paired crosswise; a third one is new.
  const std::vector<Device> gpus = {node.gpus[2], node.gpus[0], node.gpus[1]};
  const std::vector<Device> nics = {node.nics[6], node.nics[1], node.nics[0]};

  EXPECT_EQ(Paired(gpus, nics, 1, {{1, 1}, {2, 2}}), "0-0 1-1 2-2");
}

TEST(NearestPairs, SharedOnesAreSharedEvenly) {
  const FourSwitches node = Virtual();

  EXPECT_EQ(Paired({node.gpus.begin(), node.gpus.begin() + 4}, {node.nics[0], node.nics[1]}, 2),
            "0-0 1-1 2-0 3-1");
  EXPECT_EQ(Paired(node.gpus, {node.nics[0]}, 3), "0-0 1-0 2-0");
}

TEST(NearestPairs, VirtualFunctionsAreTakenFromEachCardInTurn) {
  const std::string below = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:0";
  const std::vector<Device> gpus = {At(below + "1.0/0000:03:00.0"), At(below + "2.0/0000:04:00.0")};
  const std::vector<Device> functions = {At(below + "3.0/0000:05:00.1"),
                                         At(below + "3.0/0000:05:00.2"),
                                         At(below + "4.0/0000:06:00.1")};

  EXPECT_EQ(Paired(gpus, functions), "0-0 1-2");
}

TEST(NearestPairs, WithoutTheBusTheOrderIsThatOfTheIds) {
  EXPECT_EQ(Paired({At("gpu10"), At("gpu9")}, {At("nic1"), At("nic2")}), "0-1 1-0");
}

}  // namespace
}  // namespace tessera
