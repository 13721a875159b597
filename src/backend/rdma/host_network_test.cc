// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/host_network.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

using Texts = std::set<std::string>;

class HostNetworkTest : public NodeTest {
 protected:
  HostNetwork Read() const { return ReadHostNetwork(root_, ReadNames(root_).value().interfaces); }
};

TEST(ParseDefaultRoutes, TakesRoutesToEverywhereAlone) {
  EXPECT_EQ(ParseDefaultRoutes("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
                               "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0 \n"
                               "eth1\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
                               "eth2\t00000000\n"
                               "eth3\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n"),
            Texts{"eth0"});
}

TEST(ParseDefaultRoutes6, TakesRoutesToEverywhereAlone) {
  const std::string any(32, '0'), one = std::string(31, '0') + "1";
  const std::string rest = " 00000400 00000001 00000000 00000003 ";
  EXPECT_EQ(ParseDefaultRoutes6(any + " 00 " + any + " 00 " + one + rest + "    eth0\n" +  //
                                any + " 00 " + any + " 00 " + any + rest + "      lo\n" + one +
                                " 80 " + any + " 00 " + any + rest + "    eth1\n" + any + " 08 " +
                                any + " 00 " + any + rest + "    eth2\n"),
            Texts{"eth0"});
}

TEST(ParseInterfaces, TakesTheNamesBeforeColons) {
  EXPECT_EQ(ParseInterfaces("Inter-|   Receive\n face |bytes\n    lo: 0\n  eno1: 7 0\n"),
            (Texts{"lo", "eno1"}));
}

TEST_F(HostNetworkTest, ANetworkWithOtherInterfacesIsNotTheHosts) {
  const RdmaNode node(directory_, Two());
  EXPECT_EQ(Read(), (HostNetwork{.routes = {"eno1"}}));
  Write("/sys/class/net/bonding_masters", "bond0\n");
  Write("/sys/class/net/veth1/type", "1\n");
  EXPECT_FALSE(Read().is_foreign);
  Write("/proc/net/dev", "    lo: 0\n  eth0: 0\n");
  EXPECT_TRUE(Read().is_foreign);
}

TEST_F(HostNetworkTest, ANetworkWithoutHardwareIsAPods) {
  const RdmaNode node(directory_, {});
  EXPECT_TRUE(Read().is_foreign);
}

TEST_F(HostNetworkTest, AHostWithoutIPv4HasADefaultRoute) {
  const RdmaNode node(directory_, {.default_route = ""});
  const std::string any(32, '0');
  Write("/proc/net/ipv6_route",
        any + " 00 " + any + " 00 " + any + " 00000400 00000001 00000000 00000003     eth0\n");
  EXPECT_EQ(Read().routes, Texts{"eth0"});
}

TEST_F(HostNetworkTest, ABondOfItselfHasAnEnd) {
  const RdmaNode node(directory_, {.default_route = "bond0"});
  Write("/sys/class/net/bond0/lower_bond0/type", "1\n");
  Write("/sys/class/net/bond0/lower_eth1/type", "1\n");
  EXPECT_EQ(Read().routes, (Texts{"bond0", "eth1"}));
}

}  // namespace
}  // namespace tessera::rdma
