// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/rdma.h"

#include <gtest/gtest.h>

#include "backend/rdma/backend_test.h"

namespace tessera::rdma {
namespace {

TEST_F(RdmaTest, ACardWithVirtualFunctionsIsNotGivenAsAWhole) {
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

TEST_F(RdmaTest, AllOfAHealthyNodeAreGood) {
  for (const Device& device : Scan()) EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, IdsStayWhenVirtualFunctionsAreMadeAnewAndTheirNodesAreRenumbered) {
  const Device before = DeviceAt(kVf0);
  EXPECT_EQ(before.nodes[0].host_path, "/dev/infiniband/uverbs2");
  node_.SetVfs(kPf, 0);
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  EXPECT_EQ(Checked(before), "fatal vanished 0000:af:00.1 is gone");
  node_.SetVfs(kPf, 4);
  events_.AwaitRescan();
  const Device after = DeviceAt(kVf0);
  EXPECT_EQ(after.nodes[0].host_path, "/dev/infiniband/uverbs6");
  EXPECT_EQ(Checked(after), "good");
}

TEST_F(RdmaTest, ADriverThatIsLoadedAgainTakesTheDevicesOutUntilThen) {
  const Device device = DeviceAt(kIb);
  node_.UnloadDriver();
  EXPECT_EQ(Checked(device), "fatal vanished mlx5_core no longer has 0000:3b:00.0");
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:3b:00.0! 0000:af:00.1! 0000:af:00.2! 0000:af:00.3! 0000:af:00.4!");
  EXPECT_EQ(DeviceAt(kIb).defect,
            (Error{Reason::kVanished, "mlx5_core no longer has 0000:3b:00.0"}));
  node_.LoadDriver();
  events_.AwaitRescan();
  const Device again = DeviceAt(kIb);
  EXPECT_EQ(again.defect, std::nullopt);
  EXPECT_EQ(again.nodes[0].host_path, "/dev/infiniband/uverbs6");
  EXPECT_EQ(Checked(again), "good");
}

TEST_F(RdmaTest, ANodeThatIsRenumberedBetweenTwoScansIsNoticed) {
  const Device device = DeviceAt(kIb);
  node_.UnloadDriver();
  node_.LoadDriver();
  EXPECT_EQ(Checked(device), "fatal vanished 0000:3b:00.0 no longer has mlx5_0");
  EXPECT_GE(events_.rescans, 1);
}

TEST_F(RdmaTest, AnUnpluggedCardIsGone) {
  const Device device = DeviceAt(kIb);
  node_.Unplug(kIb);
  EXPECT_EQ(Checked(device), "fatal vanished 0000:3b:00.0 is gone");
  EXPECT_EQ(Ids(), "0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

TEST_F(RdmaTest, AnInterfaceThatAPodHasTakenIsNoFault) {
  const Device device = DeviceAt(kVf0);
  node_.SetAway(kVf0, true);
  EXPECT_EQ(Checked(device), "good");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

TEST_F(RdmaTest, AFunctionWhoseFilesAreTornKeepsItsPlace) {
  Scan();
  Write("/sys/bus/pci/devices/0000:3b:00.0/class", "");
  Write("/sys/bus/pci/devices/0000:af:00.1/vendor", "\xff\xfe");
  Write("/sys/bus/pci/devices/0000:3c:00.0/class", "");  // a GPU, and never known
  EXPECT_EQ(Ids(), "0000:3b:00.0! 0000:af:00.1! 0000:af:00.2 0000:af:00.3 0000:af:00.4");
  EXPECT_EQ(DeviceAt(kVf0).nodes[0].host_path, "/dev/infiniband/uverbs2");
}

TEST_F(RdmaTest, TheCardsOfABondAreTheHostsOwn) {
  node_.SetVfs(kPf, 0);
  node_.Bond(kIb, kPf);
  EXPECT_EQ(Ids(), "");
  EXPECT_EQ(Told("ibp59s0 is a part of another interface of the host"), 1U);
}

TEST_F(RdmaTest, CardsThatAreBondedLaterAreNoDevicesUntilTheBondEnds) {
  node_.SetVfs(kPf, 0);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  node_.Bond(kIb, kPf);
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "");
  node_.Unbond(kPf);
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
}

TEST_F(RdmaTest, TheConnectionManagersNodeMayGo) {
  const Device device = DeviceAt(kIb);
  EXPECT_EQ(device.nodes.back().host_path, "/dev/infiniband/rdma_cm");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/dev/infiniband/rdma_cm"));
  EXPECT_EQ(Checked(device), "good");
  events_.AwaitRescan();
  EXPECT_EQ(DeviceAt(kIb).nodes.back().host_path, "/dev/infiniband/umad0");
}

TEST_F(RdmaTest, AnAgentInANetworkOfItsOwnSaysOnceWhatItCannotSee) {
  Write("/proc/net/dev", "    lo: 0\n  eth0: 0\n");
  Scan();
  Scan();
  EXPECT_EQ(Told("the interface with the host's default route is not known"), 1U);
}

TEST_F(RdmaTest, RdmaDevicesOfNetworkNamespacesAreToldOnce) {
  node_.SetExclusive(true);
  Scan();
  Scan();
  EXPECT_EQ(Told("RDMA devices belong to network namespaces"), 1U);
}

class RdmaSharedTest : public RdmaTest {
 protected:
  RdmaSharedTest()
      : RdmaTest({.choice = {.which = RdmaChoice::Which::kPhysical, .shared = true}}) {}
};

TEST_F(RdmaSharedTest, TwoCardsThatAreBondedAreOneDeviceAtTheFirst) {
  node_.SetVfs(kPf, 0);
  node_.Bond(kIb, kPf);
  EXPECT_EQ(Ids(), "0000:3b:00.0");
}

TEST_F(RdmaSharedTest, ACardThatIsBondedLaterIsNoDeviceUntilTheBondEnds) {
  node_.SetVfs(kPf, 0);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  node_.Bond(kIb, kPf);
  EXPECT_EQ(Ids(), "0000:3b:00.0");
  EXPECT_EQ(Checked(DeviceAt(kIb)), "good");
  node_.Unbond(kPf);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  EXPECT_EQ(Checked(DeviceAt(kPf)), "good");
}

TEST_F(RdmaSharedTest, APartOfASwitchThatLosesItsRdmaDeviceStays) {
  node_.SetVfs(kPf, 0);
  const std::string master = directory_ + "/sys/bus/pci/devices/0000:3b:00.0/net/ibp59s0/master";
  ASSERT_TRUE(os::ReplaceLink(master, "../../../../../virtual/net/ovs-system"));
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/sys/class/infiniband/mlx5_0"));
  EXPECT_EQ(Ids(), "0000:3b:00.0! 0000:af:00.0");
  EXPECT_EQ(DeviceAt(kIb).defect, (Error{Reason::kVanished, "0000:3b:00.0 no longer has mlx5_0"}));
}

TEST_F(RdmaSharedTest, AVirtualFunctionThatIsBeingRemovedIsNoCard) {
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/sys/bus/pci/devices/0000:af:00.1/physfn"));
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
}

TEST_F(RdmaSharedTest, ContainersCannotShareADeviceOfANetworkNamespace) {
  node_.SetExclusive(true);
  EXPECT_EQ(Ids(), "0000:3b:00.0! 0000:af:00.0!");
  EXPECT_EQ(DeviceAt(kIb).defect,
            (Error{Reason::kNodeLacks,
                   "RDMA devices belong to network namespaces, so containers cannot share one: "
                   "`rdma system set netns shared` ends that"}));
  node_.SetExclusive(false);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
}

class RdmaSharedEntriesTest : public RdmaTest {
 protected:
  RdmaSharedEntriesTest()
      : RdmaTest({.choice = {
                      .select = {{.address = kIb, .access = {.verbs = false}}, {.vendor = "15b3"}},
                      .which = RdmaChoice::Which::kPhysical,
                      .shared = true}}) {}
};

TEST_F(RdmaSharedEntriesTest, OnlyThoseWhoseRdmaDevicesAreGivenNeedThemShared) {
  node_.SetExclusive(true);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0!");
}

// By what a pod's use of the interface hides.
class RdmaTakenTest : public RdmaTest {
 protected:
  RdmaTakenTest()
      : RdmaTest({.choice = {.select = {{.interface = "ens3f0v0", .link = "ether"},
                                        {.link = "infiniband", .pkey = "0xffff"}},
                             .verbs = false},
                  .cni = true}) {}
};

TEST_F(RdmaTakenTest, AFunctionStaysWhileAPodHasItsInterface) {
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1");
  node_.SetAway(kIb, true);
  node_.SetAway(kVf0, true);
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1");
  for (const Device& device : Scan()) EXPECT_EQ(Checked(device), "good");
  EXPECT_EQ(os::ListDirectory(root_.Path("/var/run/k8s.cni.cncf.io/devinfo/dp"))->size(), 2U);
  node_.SetDriver(kVf0, "vfio-pci");
  EXPECT_EQ(Ids(), "0000:3b:00.0");
}

class RdmaVfioTest : public RdmaTest {
 protected:
  RdmaVfioTest() : RdmaTest({.choice = {.which = RdmaChoice::Which::kVirtual, .verbs = false}}) {}
};

TEST_F(RdmaVfioTest, AVirtualFunctionOfVfioHasItsGroupsNodesAndItsCardsLink) {
  Scan();
  node_.SetDriver(kVf0, "vfio-pci");
  events_.AwaitRescan();
  const Device device = DeviceAt(kVf0);
  ASSERT_EQ(device.nodes.size(), 2U);
  EXPECT_EQ(device.nodes[0].host_path, "/dev/vfio/vfio");
  EXPECT_EQ(device.nodes[1].host_path, "/dev/vfio/71");
  EXPECT_EQ(device.defect, std::nullopt);
  EXPECT_EQ(Checked(device), "good");
  node_.SetCable(kPf, false);
  EXPECT_EQ(Checked(device),
            "bad link-down 0000:af:00.1 is a part of 0000:af:00.0: port 1 of mlx5_1 is DOWN "
            "(Disabled)");
}

class RdmaCniTest : public RdmaTest {
 protected:
  RdmaCniTest() : RdmaTest({.cni = true}) {}
};

TEST_F(RdmaCniTest, CniPluginsFindEachDeviceAndNoOther) {
  const std::string directory = root_.Path("/var/run/k8s.cni.cncf.io/devinfo/dp");
  Scan();
  EXPECT_EQ(os::ListDirectory(directory)->size(), 5U);
  node_.SetVfs(kPf, 0);
  Scan();
  EXPECT_EQ(os::ListDirectory(directory).value(),
            (std::vector<std::string>{"example.com-nic-0000:3b:00.0-device.json",
                                      "example.com-nic-0000:af:00.0-device.json"}));
}

TEST_F(RdmaCniTest, ADeviceThatCniPluginsCannotFindIsNotOffered) {
  Write("/var/run/k8s.cni.cncf.io/devinfo", "");
  EXPECT_EQ(Ids(), "0000:3b:00.0! 0000:af:00.1! 0000:af:00.2! 0000:af:00.3! 0000:af:00.4!");
}

class RdmaInterfaceTest : public RdmaTest {
 protected:
  RdmaInterfaceTest()
      : RdmaTest({.choice = {.select = {{.interface = "ens3f0v0"}, {.pf = "ens3f0np0#1"}},
                             .verbs = false}},
                 WithoutVerbs()) {}

 private:
  static SimNode WithoutVerbs() {
    SimNode node = Two();
    node.nics[1].has_verbs = false;
    return node;
  }
};

TEST_F(RdmaInterfaceTest, AFunctionIsChosenByAnInterfaceThatAPodHasTaken) {
  EXPECT_EQ(Ids(), "0000:af:00.1 0000:af:00.2");
  node_.SetAway(kVf0, true);
  node_.SetAway(kPf, true);
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:af:00.1 0000:af:00.2");
  EXPECT_EQ(Checked(DeviceAt(kVf0)), "good");
  node_.SetAway(kPf, false);
  node_.SetCable(kPf, false);
  EXPECT_EQ(Checked(DeviceAt(kVf0)),
            "bad link-down 0000:af:00.1 is a part of 0000:af:00.0: ens3f0np0 has no carrier");
}

class RdmaMixedTest : public RdmaTest {
 protected:
  RdmaMixedTest()
      : RdmaTest({.choice = {.select = {{.address = kVf0, .access = {.verbs = false}},
                                        {.pf = "ens3f0np0#0-1", .access = {.vhost = true}},
                                        {.vendor = "15b3", .access = {.verbs = false}}}}}) {
    Write("/dev/vhost-net", "");
    Write("/dev/net/tun", "");
  }
};

TEST_F(RdmaMixedTest, EachFunctionHasTheAccessOfItsEntry) {
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
  EXPECT_EQ(NodesOf(kVf0), "");
  EXPECT_EQ(NodesOf("0000:af:00.2"),
            "/dev/infiniband/uverbs3 /dev/infiniband/umad3 /dev/infiniband/rdma_cm /dev/vhost-net "
            "/dev/net/tun");
  EXPECT_EQ(NodesOf("0000:af:00.3"), "");
}

TEST_F(RdmaMixedTest, AFunctionThatLosesItsDriverDoesNotMoveToAnEntryWithoutVerbs) {
  (void)Scan();
  for (const char* const address : {kVf0, "0000:af:00.2"}) node_.SetDriver(address, "");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2! 0000:af:00.3 0000:af:00.4");
  EXPECT_EQ(NodesOf("0000:af:00.2"), "/dev/infiniband/rdma_cm /dev/vhost-net /dev/net/tun");

  node_.SetDriver("0000:af:00.2", "vfio-pci");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

class RdmaAcceleratorTest : public RdmaTest {
 protected:
  RdmaAcceleratorTest()
      : RdmaTest({.choice = {.accelerators = true, .verbs = false}}, WithAccelerator()) {}

 private:
  static SimNode WithAccelerator() {
    SimNode node = Two();
    node.others = {{.address = "0000:b2:00.0",
                    .bridges = {"pci0000:ae", "0000:ae:03.0"},
                    .vendor = "0x8086",
                    .device = "0x0d5c",
                    .pci_class = "0x120001",
                    .numa = 1}};
    return node;
  }
};

TEST_F(RdmaAcceleratorTest, AProcessingAcceleratorIsADeviceAndACardIsNone) {
  EXPECT_EQ(Ids(), "0000:b2:00.0");
  const Device device = DeviceAt("0000:b2:00.0");
  EXPECT_EQ(device.model, "accelerator 8086:0d5c");
  EXPECT_EQ(device.numa_nodes, std::vector<int>{1});
  EXPECT_EQ(Checked(device), "good");
}

class RdmaDomainsTest : public RdmaTest {
 protected:
  RdmaDomainsTest() : RdmaTest({}, Domains()) {}
};

TEST_F(RdmaDomainsTest, CardsOfOtherPciDomainsAreServed) {
  EXPECT_EQ(Ids(), "0001:01:00.0 10000:01:00.0");
}

class RdmaEfaTest : public RdmaTest {
 protected:
  RdmaEfaTest() : RdmaTest({}, Efa()) {}
};

TEST_F(RdmaEfaTest, ACardWithoutAnInterfaceAndMadsHasItsNodeForPrograms) {
  EXPECT_EQ(Ids(), "0000:9c:00.0 0000:9d:00.0");
  const Device device = DeviceAt("0000:9d:00.0");
  ASSERT_EQ(device.nodes.size(), 2U);
  EXPECT_EQ(device.nodes[0].host_path, "/dev/infiniband/uverbs1");
  EXPECT_EQ(device.nodes[1].host_path, "/dev/infiniband/rdma_cm");
  EXPECT_EQ(Checked(device), "good");
}

class RdmaNearestTest : public RdmaTest {
 protected:
  RdmaNearestTest()
      : RdmaTest({.choice = {.select = {{.vendor = "15b3", .device = "101c", .driver = "vfio-pci"},
                                        {.vendor = "8086"}}}}) {}
};

TEST_F(RdmaNearestTest, AResourceThatMatchesNothingNamesTheNearestFunctionOnce) {
  EXPECT_EQ(Ids(), "");
  EXPECT_EQ(Ids(), "");
  EXPECT_EQ(Told("no network function fits the resource"), 1U);
  EXPECT_EQ(Told("the nearest is 0000:af:00.1: its driver is mlx5_core, not vfio-pci"), 1U);
}

class RdmaNoneTest : public RdmaTest {
 protected:
  RdmaNoneTest() : RdmaTest({}, {}) {}
};

TEST_F(RdmaNoneTest, ANodeWithoutACardIsQuiet) {
  EXPECT_EQ(Ids(), "");
  EXPECT_EQ(Ids(), "");
  EXPECT_EQ(Told("the node has no network card"), 1U);
  EXPECT_EQ(log_.size(), 1U);
}

class RdmaHostRouteTest : public RdmaTest {
 protected:
  RdmaHostRouteTest() : RdmaTest({}, WithRoute()) {}

 private:
  static SimNode WithRoute() {
    SimNode node = Two();
    node.nics[1].vfs = 0;
    node.default_route = "bond0";
    return node;
  }
};

TEST_F(RdmaHostRouteTest, TheCardBelowTheHostsDefaultRouteIsLeftOut) {
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.0");
  Write("/sys/class/net/bond0/lower_ens3f0np0/type", "1\n");
  EXPECT_EQ(Ids(), "0000:3b:00.0");
}

}  // namespace
}  // namespace tessera::rdma
