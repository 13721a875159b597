// SPDX-License-Identifier: Apache-2.0
// Network functions from the bus to a container.
#include "grant/grant.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"
#include "backend/rdma/rdma.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

constexpr char kNics[] = "example.com/nic";

class RdmaGrantTest : public NodeTest {
 protected:
  Offer OfferOf(const RdmaConfig& config, const Policy& policy = {}) {
    RdmaBackend backend(kNics, config, root_, loop_);
    const InventoryPtr inventory =
        Merge(std::make_shared<Inventory>(), kNics, backend.Scan().value(), [](const DeviceKey&) {
          return false;
        }).inventory;
    return Divide(kNics, {policy}, *inventory, kNics,
                  [](const Device&) -> std::optional<Error> { return std::nullopt; });
  }
  static std::vector<std::string> IdsOf(const Offer& offer) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < offer.shares.size(); ++i) ids.push_back(offer.shares[i].id);
    return ids;
  }

  os::Loop loop_;
};

TEST_F(RdmaGrantTest, TwoFunctionsHaveTheirNodesTheCommonOneOnceAndJoinedVariables) {
  const RdmaNode node(directory_, Two());
  const Offer offer = OfferOf({.choice = {.which = RdmaChoice::Which::kVirtual}});
  EXPECT_EQ(IdsOf(offer), (std::vector<std::string>{"0000:af:00.1", "0000:af:00.2", "0000:af:00.3",
                                                    "0000:af:00.4"}));

  const auto granted = Allocate(offer, {.strategies = {Strategy::kEnvvar, Strategy::kDeviceSpecs}},
                                std::vector<std::string>{"0000:af:00.3", "0000:af:00.1"});

  ASSERT_TRUE(granted) << granted.error().Text();
  std::vector<std::string> nodes;
  for (const DeviceNode& one : granted->devices) nodes.push_back(one.container_path);
  EXPECT_EQ(nodes, (std::vector<std::string>{"/dev/infiniband/uverbs2", "/dev/infiniband/umad2",
                                             "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs4",
                                             "/dev/infiniband/umad4"}));
  EXPECT_EQ(
      granted->envs,
      (std::map<std::string, std::string>{
          {"PCIDEVICE_EXAMPLE_COM_NIC", "0000:af:00.1,0000:af:00.3"},
          {"PCIDEVICE_EXAMPLE_COM_NIC_INFO",
           R"({"0000:af:00.1":{"generic":{"deviceID":"0000:af:00.1"},"rdma":{"rdma_dev":"mlx5_2",)"
           R"("uverbs":"/dev/infiniband/uverbs2","umad":"/dev/infiniband/umad2",)"
           R"("rdma_cm":"/dev/infiniband/rdma_cm"}},)"
           R"("0000:af:00.3":{"generic":{"deviceID":"0000:af:00.3"},"rdma":{"rdma_dev":"mlx5_4",)"
           R"("uverbs":"/dev/infiniband/uverbs4","umad":"/dev/infiniband/umad4",)"
           R"("rdma_cm":"/dev/infiniband/rdma_cm"}}})"}}));
}

TEST_F(RdmaGrantTest, ACardIsSharedWhileItHasVirtualFunctions) {
  const RdmaNode node(directory_, Two());
  const RdmaConfig config = {.choice = {.which = RdmaChoice::Which::kPhysical, .shared = true}};
  EXPECT_EQ(IdsOf(OfferOf(config, {.division = Division::kReplicas, .replicas = 2})),
            (std::vector<std::string>{"0000:3b:00.0::0", "0000:3b:00.0::1", "0000:af:00.0::0",
                                      "0000:af:00.0::1"}));
}

TEST_F(RdmaGrantTest, AThousandVirtualFunctionsAreOffered) {
  const RdmaNode node(directory_, Many());
  EXPECT_EQ(OfferOf({}).shares.size(), 1000U);
}

}  // namespace
}  // namespace tessera::rdma
