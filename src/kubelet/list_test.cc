// SPDX-License-Identifier: Apache-2.0
#include "kubelet/list.h"

#include <gtest/gtest.h>

#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet {
namespace {

const Error kSick{Reason::kCheckFailed, "on fire"};

Offer OfferOf(int count, const std::string& prefix = "", const std::vector<int>& numa = {}) {
  Offer offer;
  offer.resource = "dummy.com/npu";
  std::vector<Share> shares;
  for (int i = 0; i < count; ++i) {
    Device device;
    if (i > 0) device.numa_nodes = numa;
    offer.devices.push_back(device);
    shares.push_back({prefix + std::to_string(i), static_cast<uint32_t>(i)});
  }
  offer.shares = ShareList(std::move(shares));
  return offer;
}

v1beta1::ListAndWatchResponse Parse(const ListBytes& bytes) {
  v1beta1::ListAndWatchResponse list;
  EXPECT_TRUE(list.ParseFromString(*bytes));
  return list;
}

TEST(ListTest, EveryShareGoesOutWithItsHealth) {
  Offer offer = OfferOf(2);
  offer.troubles[1] = kSick;

  v1beta1::ListAndWatchResponse list = Parse(*SerializeList(offer));

  ASSERT_EQ(list.devices_size(), 2);
  EXPECT_EQ(list.devices(0).id(), "0");
  EXPECT_EQ(list.devices(0).health(), "Healthy");
  EXPECT_EQ(list.devices(1).health(), "Unhealthy");
}

TEST(ListTest, TheBytesAreThoseThatProtobufWrites) {
  Offer offer = OfferOf(300, "GPU-8a1c7f9e-0d7b-4f2e-9f37-", {0, 7, 300});
  offer.troubles[7] = kSick;

  const ListBytes bytes = *SerializeList(offer);

  std::string again;
  ASSERT_TRUE(Parse(bytes).SerializeToString(&again));
  EXPECT_EQ(*bytes, again);
  EXPECT_EQ(Parse(bytes).devices(299).topology().nodes(2).id(), 300);
}

TEST(ListTest, TopologyIsLeftOutWhereThePolicySaysSo) {
  Offer offer = OfferOf(2, "", {0, 1});
  offer.plan.policy.tells_numa = false;
  EXPECT_FALSE(Parse(*SerializeList(offer)).devices(1).has_topology());
}

TEST(ListTest, TopologyIsLeftOutWhenNoNodeIsKnown) {
  Offer offer = OfferOf(2, "", {0, 1});

  v1beta1::ListAndWatchResponse list = Parse(*SerializeList(offer));

  EXPECT_FALSE(list.devices(0).has_topology());
  ASSERT_EQ(list.devices(1).topology().nodes_size(), 2);
  EXPECT_EQ(list.devices(1).topology().nodes(1).id(), 1);
}

TEST(ListTest, SixtyThousandSharesWithLongIdsFit) {
  auto bytes = SerializeList(OfferOf(60'000, std::string(40, 'x')));

  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_LT((*bytes)->size(), kMaxListBytes);
}

TEST(ListTest, AListThatFitsWhileAllAreHealthyFitsWhenNoneIs) {
  int count = 60'000;
  for (int too_many = 80'000; too_many - count > 500;) {
    const int middle = (count + too_many) / 2;
    (SerializeList(OfferOf(middle, std::string(40, 'x'))) ? count : too_many) = middle;
  }
  Offer sick = OfferOf(count, std::string(40, 'x'));
  for (uint32_t i = 0; i < sick.devices.size(); ++i) sick.troubles[i] = kSick;

  EXPECT_TRUE(SerializeList(sick));
}

TEST(ListTest, AListThatDoesNotFitSaysHowManyWould) {
  auto bytes = SerializeList(OfferOf(100'000, std::string(40, 'x')));

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error(),
            (Error{Reason::kListTooLarge,
                   "dummy.com/npu: 100000 shares make a list of 5988890 bytes; about 70034 would "
                   "fit kubelet's 4194304 bytes"}));
}

TEST(ListTest, SharesThatCanNeverFitAreRefusedBeforeTheyAreMade) {
  DeviceList devices;
  for (const char* id : {"0", "1", "2", "3", "4", "5", "6", "7"}) {
    Device device;
    device.key = {"dummy.com/npu", id};
    devices.push_back(std::move(device));
  }

  Plan plan = {.policy = {Division::kReplicas, 1'000}};
  EXPECT_TRUE(MayFit("dummy.com/npu", devices, plan));
  plan.policy.replicas = 100'000'000;
  EXPECT_EQ(MayFit("dummy.com/npu", devices, plan).error(),
            (Error{Reason::kListTooLarge,
                   "dummy.com/npu: 800000000 shares make a list of more than 11200000000 bytes; "
                   "kubelet takes 4194304"}));
  EXPECT_TRUE(MayFit("dummy.com/other", devices, plan));
  for (const Device& device : devices) plan.kept[device.key.id] = {device.key.id};
  EXPECT_TRUE(MayFit("dummy.com/npu", devices, plan));
}

}  // namespace
}  // namespace tessera::kubelet
