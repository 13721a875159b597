// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/select.h"

#include <gtest/gtest.h>

namespace tessera::rdma {
namespace {

using Which = RdmaChoice::Which;

// A card with two virtual functions, and one that a program of vfio has.
std::vector<Function> Node() {
  return {{.address = "0000:3b:00.0",
           .vendor = "15b3",
           .device = "101b",
           .driver = "mlx5_core",
           .functions = 2,
           .interfaces = {"ens1np0"},
           .link = "ether",
           .hca = "mlx5_0"},
          {.address = "0000:3b:00.1",
           .vendor = "15b3",
           .device = "101c",
           .driver = "mlx5_core",
           .physical = "0000:3b:00.0",
           .index = 0,
           .link = "ether",
           .hca = "mlx5_1"},
          {.address = "0000:3b:00.2",
           .vendor = "15b3",
           .device = "101c",
           .driver = "vfio-pci",
           .physical = "0000:3b:00.0",
           .index = 1},
          {.address = "0000:af:00.0",
           .vendor = "8086",
           .device = "1592",
           .driver = "ice",
           .acpi_index = "102",
           .interfaces = {"eno1"},
           .link = "ether",
           .hca = "rocep175s0"},
          {.address = "0000:b0:00.0", .vendor = "8086", .device = "1592", .driver = "ice"},
          {.address = "0000:b1:00.0", .vendor = "8086", .device = "1592"}};
}

// "fits", or why not.
std::string Answer(const RdmaChoice& choice, size_t function, const HostNetwork& host = {}) {
  const std::vector<Function> functions = Node();
  const Fit fit = FitOf(choice, functions[function], functions, host);
  EXPECT_EQ(fit.fits, fit.why.empty());
  return fit.fits ? "fits" : fit.why;
}

struct Case {
  const char* name;
  RdmaChoice choice;
  size_t function;
  std::string answer;
};
const Case kCases[] = {
    {"Vendor", {.select = {{.vendor = "8086"}}}, 1, "its vendor is 15b3, not 8086"},
    {"Device", {.select = {{.device = "101b"}}}, 1, "its device is 101c, not 101b"},
    {"Driver", {.select = {{.driver = "ice"}}}, 1, "its driver is mlx5_core, not ice"},
    {"Address",
     {.select = {{.address = "0000:3b:00.2"}}},
     1,
     "its address is 0000:3b:00.1, not 0000:3b:00.2"},
    {"NoInterface",
     {.select = {{.interface = "ens1np0"}}},
     1,
     "it has no interface here, so none is ens1np0"},
    {"Interface", {.select = {{.interface = "eno9"}}}, 3, "its interface is eno1, not eno9"},
    {"Link", {.select = {{.link = "infiniband"}}}, 1, "its link is ether, not infiniband"},
    {"NoLink", {.select = {{.link = "ether"}}, .verbs = false}, 2, "its link is not known"},
    {"HiddenLink", {.select = {{.link = "ether"}}, .verbs = false}, 4, "fits"},
    {"LinkWithoutADriver",
     {.select = {{.link = "ether"}}, .verbs = false},
     5,
     "its link is not known"},
    {"Key", {.select = {{.pkey = "0x8001"}}}, 1, "its partition key is not known"},
    {"PfByInterface", {.select = {{.pf = "ens1np0"}}}, 1, "fits"},
    {"PfByAddress", {.select = {{.pf = "0000:3b:00.0#0"}}}, 1, "fits"},
    {"OtherPf", {.select = {{.pf = "eno1"}}}, 1, "its physical function is not eno1"},
    {"NumberOfFunction",
     {.select = {{.pf = "ens1np0#1-3,7"}}},
     1,
     "its number 0 is not in ens1np0#1-3,7"},
    {"ACardIsNoFunctionOfItself",
     {.select = {{.pf = "eno1#0"}}},
     3,
     "it is not one of the virtual functions eno1#0"},
    {"RootBesidePf", {.select = {{.pf = "ens1np0", .pf_address = "0000:3b:00.0#0"}}}, 1, "fits"},
    {"OtherRoot",
     {.select = {{.pf = "ens1np0", .pf_address = "0000:af:00.0"}}},
     1,
     "its physical function is not 0000:af:00.0"},
    {"AcpiIndex", {.select = {{.acpi_index = "101"}}}, 3, "its ACPI index is 102, not 101"},
    {"NoAcpiIndex", {.select = {{.acpi_index = "101"}}}, 1, "its ACPI index is not known"},
    {"NoAccelerator", {.accelerators = true, .verbs = false}, 3, "it is a network card"},
    {"OneOfTwoEntries", {.select = {{.vendor = "8086"}, {.device = "101c"}}}, 1, "fits"},
    {"TheBestEntryExplains",
     {.select = {{.vendor = "8086"}, {.vendor = "15b3", .device = "101b"}}},
     1,
     "its device is 101c, not 101b"},
    {"VirtualOnly", {.which = Which::kVirtual}, 3, "it is a physical function"},
    {"PhysicalOnly", {.which = Which::kPhysical}, 1, "it is a virtual function"},
    {"WithVirtualFunctions", {}, 0, "it has 2 virtual functions, which are given instead"},
    {"SharedWithVirtualFunctions", {.shared = true}, 0, "fits"},
    {"NoRdmaDevice", {}, 2, "vfio-pci has made no RDMA device of it"},
    {"WithoutVerbs", {.verbs = false}, 2, "fits"},
    {"AnEntryWithoutVerbs",
     {.select = {{.driver = "vfio-pci", .access = {.verbs = false}}}},
     2,
     "fits"},
    {"AnotherEntryWithoutVerbs",
     {.select = {{.driver = "vfio-pci"}, {.vendor = "8086", .access = {.verbs = false}}}},
     2,
     "vfio-pci has made no RDMA device of it"},
};

class SelectTest : public testing::TestWithParam<Case> {};

TEST_P(SelectTest, SaysWhetherAFunctionFits) {
  EXPECT_EQ(Answer(GetParam().choice, GetParam().function), GetParam().answer);
}

INSTANTIATE_TEST_SUITE_P(By, SelectTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FitOf, TheHostsDefaultRouteStaysWithTheHost) {
  const HostNetwork host = {.routes = {"eno1"}};
  EXPECT_EQ(Answer({}, 3, host), "eno1 has the host's default route");
  EXPECT_EQ(Answer({.shared = true}, 3, host), "fits");
}

TEST(FitOf, ACardBelowABridgeStaysWithTheHost) {
  std::vector<Function> functions = Node();
  functions[3].master = "br0";
  EXPECT_EQ(FitOf(RdmaChoice(), functions[3], functions, {}).why,
            "eno1 is a part of another interface of the host");
  EXPECT_TRUE(FitOf(RdmaChoice{.shared = true}, functions[3], functions, {}).fits);
}

TEST(FitOf, TheFirstEntryThatAFunctionFitsSaysWhatContainersGet) {
  const std::vector<Function> functions = Node();
  const RdmaConfig config = {
      .choice = {.select = {{.vendor = "8086"},
                            {.pf = "ens1np0", .access = {.vhost = true}},
                            {.vendor = "15b3", .device = "101c", .access = {.verbs = false}}}}};
  EXPECT_EQ(FitOf(config, functions[1], functions, {}).access, (RdmaAccess{.vhost = true}));
  EXPECT_EQ(FitOf(config, functions[2], functions, {}).access, (RdmaAccess{.verbs = false}));
  EXPECT_EQ(FitOf(config, functions[3], functions, {}).access, RdmaAccess());
}

TEST(FitOf, AnEntryGivesNoVerbsThatTheResourceHasNot) {
  const std::vector<Function> functions = Node();
  const RdmaConfig config = {.choice = {.select = {{.vendor = "15b3"}}, .verbs = false},
                             .vhost = true};
  EXPECT_EQ(FitOf(config, functions[1], functions, {}).access,
            (RdmaAccess{.verbs = false, .vhost = true}));
}

TEST(FitOf, AnEarlierResourceHasWhatBothChoose) {
  const std::vector<Function> functions = Node();
  const RdmaConfig config = {.earlier = {{"example.com/intel", {.select = {{.vendor = "8086"}}}}}};
  EXPECT_EQ(FitOf(config, functions[3], functions, {}).why,
            "the resource example.com/intel has it");
  EXPECT_TRUE(FitOf(config, functions[1], functions, {}).fits);
}

TEST(FitOf, ACardThatTheHostMayNeedIsNotMovedIntoPods) {
  const std::vector<Function> functions = Node();
  const HostNetwork host = {.is_foreign = true};
  EXPECT_EQ(FitOf(RdmaConfig{.cni = true}, functions[3], functions, host).why,
            "the agent cannot see whether the host needs it");
  EXPECT_TRUE(FitOf(RdmaConfig{.cni = true}, functions[1], functions, host).fits);
  EXPECT_TRUE(FitOf(RdmaConfig(), functions[3], functions, host).fits);
}

Details NoDetails() {
  return {.links = false,
          .numbers = false,
          .issms = false,
          .acpi_indices = false,
          .accelerators = false};
}

TEST(DetailsOf, AreThoseThatTheResourceChoosesBy) {
  EXPECT_EQ(DetailsOf({}), NoDetails());
  Details details = NoDetails();
  details.numbers = details.acpi_indices = true;
  EXPECT_EQ(
      DetailsOf({.choice = {.select = {{.pf = "ens1np0"},
                                       {.pf_address = "0000:3b:00.0#1", .acpi_index = "7"}}}}),
      details);
}

TEST(DetailsOf, AreThoseOfEarlierResources) {
  Details details = NoDetails();
  details.links = details.issms = true;
  EXPECT_EQ(DetailsOf({.issm = true, .earlier = {{"a.b/c", {.select = {{.pkey = "0x8001"}}}}}}),
            details);
}

TEST(ParsePf, TakesANameWithRanges) {
  EXPECT_EQ(ParsePf("ens1np0"), (PfSelector{.name = "ens1np0"}));
  EXPECT_EQ(ParsePf("0000:3b:00.0#0-3,7"),
            (PfSelector{.name = "0000:3b:00.0", .indices = {{0, 3}, {7, 7}}}));
}

TEST(ParsePf, RefusesOtherTexts) {
  for (const char* const text : {"", "#1", "a#", "a#-1", "a#2-1", "a#1-", "a#1,", "a#x", "a#1#2"}) {
    EXPECT_EQ(ParsePf(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tessera::rdma
