// SPDX-License-Identifier: Apache-2.0
#include "fraction/chosen_shares.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "hami/vendor.h"

namespace tessera {
namespace {

constexpr char kGpuResource[] = "nvidia.com/gpu";
const std::string kFirst = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
const std::string kSecond = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";
using Ids = std::vector<std::string>;

PodPtr Waiting(const Ids& cards) {
  auto pod = std::make_shared<kube::Pod>();
  pod->node = "worker-1";
  pod->containers = {
      {.name = "app",
       .limits = {{kGpuResource, std::to_string(cards.size())}, {"nvidia.com/gpumem", "100"}}}};
  std::string& chosen = pod->annotations["hami.io/vgpu-devices-allocated"];
  for (const std::string& card : cards) chosen += card + ",NVIDIA,100,0:";
  pod->annotations["hami.io/vgpu-node"] = "worker-1";
  return pod;
}

class ChosenSharesTest : public testing::Test {
 protected:
  ChosenSharesTest() {
    for (const std::string& id : {kFirst, kSecond}) {
      Device device;
      device.key = {kGpuResource, id};
      device.memory = 1000;
      offer_.devices.push_back(device);
      for (int i = 0; i < 3; ++i) available_.push_back(fmt::format("{}-{}", id, 2 - i));
    }
    offer_.resource = kGpuResource;
    fractions_.requests = hami::kNvidia.Requests();
  }
  Ids Prefer(const std::vector<PodPtr>& waiting, int size, const Ids& must = {}) const {
    return ChosenShares(waiting, offer_, fractions_,
                        {.available = available_, .must_include = must, .size = size});
  }

  Offer offer_;
  FractionRules fractions_;
  Ids available_;
};

TEST_F(ChosenSharesTest, AreOfTheCardsOfTheOnlyContainerThatItMayBe) {
  EXPECT_EQ(Prefer({Waiting({kSecond}), Waiting({kFirst, kSecond})}, 1), Ids{kSecond + "-0"});
  EXPECT_EQ(Prefer({Waiting({kSecond}), Waiting({kSecond, kFirst})}, 2),
            (Ids{kFirst + "-0", kSecond + "-0"}));
}

TEST_F(ChosenSharesTest, AreThereWhereSeveralAgreeAndNotWhereTheyDoNot) {
  EXPECT_EQ(Prefer({Waiting({kSecond}), Waiting({kSecond})}, 1), Ids{kSecond + "-0"});
  EXPECT_EQ(Prefer({Waiting({kSecond}), Waiting({kFirst})}, 1), Ids());
  EXPECT_EQ(Prefer({Waiting({kSecond})}, 2), Ids());
  EXPECT_EQ(Prefer({}, 1), Ids());
}

TEST_F(ChosenSharesTest, HaveWhatMustBeAmongThemOrAreNone) {
  EXPECT_EQ(Prefer({Waiting({kFirst, kSecond})}, 2, {kSecond + "-2"}),
            (Ids{kSecond + "-2", kFirst + "-0"}));
  EXPECT_EQ(Prefer({Waiting({kFirst})}, 1, {kSecond + "-2"}), Ids());
}

TEST_F(ChosenSharesTest, AreNoneWhereTheCardHasNoneLeft) {
  available_ = {kFirst + "-0"};
  EXPECT_EQ(Prefer({Waiting({kSecond})}, 1), Ids());
}

}  // namespace
}  // namespace tessera
