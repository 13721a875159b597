// SPDX-License-Identifier: Apache-2.0
#include "grant/fraction.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/nvidia/fraction/limiter.h"

namespace tessera {
namespace {

constexpr char kFirst[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
constexpr char kSecond[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";

// `order`: the second one's place among those that containers see; the first one's is 0.
Offer TwoCards(int64_t memory, int parts, int order = 0) {
  Inventory inventory;
  for (const char* id : {kFirst, kSecond}) {
    Device device;
    device.order = id == kSecond ? order : 0;
    device.key = {"nvidia.com/gpu", id};
    device.visible_as = id;
    device.memory = memory;
    device.nodes = {{std::string("/dev/") + id, std::string("/dev/") + id}};
    inventory.devices.push_back(device);
  }
  return Divide("nvidia.com/gpu", {{Division::kVgpu, parts, Separator::kDash}}, inventory,
                "nvidia.com/gpu", [](const Device&) { return std::optional<Error>(); });
}

std::string ShareOf(const char* gpu, int number) {
  return std::string(gpu) + "-" + std::to_string(number);
}

FractionRules Parts(int parts) {
  return {.enforcer = &nvidia::Limiter(),
          .directory = "/usr/local/vgpu",
          .library = "/opt/libvgpu.so",
          .parts = parts};
}

TEST(FractionsOf, AreSoManyEqualPartsOfACard) {
  const Offer offer = TwoCards(1000, 3);
  const std::vector<std::string> two = {ShareOf(kSecond, 0), ShareOf(kFirst, 2)};
  EXPECT_EQ(FractionsOf(offer, Parts(3), two),
            (std::vector<Fraction>{{kFirst, 333, 33}, {kSecond, 333, 33}}));
}

TEST(FractionsOf, OfOneCardAddUpAndAllAreTheWholeCard) {
  const Offer offer = TwoCards(1000, 3);
  const std::vector<std::string> two = {ShareOf(kFirst, 0), ShareOf(kFirst, 2)};
  EXPECT_EQ(FractionsOf(offer, Parts(3), two), (std::vector<Fraction>{{kFirst, 666, 66}}));
  const std::vector<std::string> all = {ShareOf(kFirst, 0), ShareOf(kFirst, 1), ShareOf(kFirst, 2)};
  EXPECT_EQ(FractionsOf(offer, Parts(3), all), (std::vector<Fraction>{{kFirst, 1000, 100}}));
}

TEST(FractionsOf, AreInTheOrderInWhichContainersSeeTheirCards) {
  const std::vector<std::string> ids = {ShareOf(kFirst, 0), ShareOf(kFirst, 1),
                                        ShareOf(kSecond, 0)};
  EXPECT_EQ(FractionsOf(TwoCards(1000, 4, -1), Parts(4), ids),
            (std::vector<Fraction>{{kSecond, 250, 25}, {kFirst, 500, 50}}));
}

TEST(FractionsOf, HaveTheirOwnSizesWhereTheseAreConfigured) {
  FractionRules fractions = Parts(2);
  fractions.sizes = {{700, 60}, {200, 50}};
  const Offer offer = TwoCards(0, 2);
  const std::vector<std::string> ids = {ShareOf(kFirst, 1), ShareOf(kSecond, 0),
                                        ShareOf(kSecond, 1)};
  EXPECT_EQ(FractionsOf(offer, fractions, ids),
            (std::vector<Fraction>{{kFirst, 200, 50}, {kSecond, 900, 100}}));
}

TEST(FractionsOf, OfACardWhoseMemoryIsNotKnownAreNone) {
  const std::vector<std::string> ids = {ShareOf(kFirst, 0)};
  const auto parts = FractionsOf(TwoCards(0, 2), Parts(2), ids);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().message,
            std::string("nvidia.com/gpu: the driver does not report the memory of device ") +
                kFirst + "; set 'vgpu: {sizes: ...}'");
}

TEST(PartsText, SurvivesBeingWritten) {
  const std::vector<Fraction> parts = {{kFirst, 300, 0}, {kSecond, 400, 100}};
  EXPECT_EQ(PartsText(parts), std::string(kFirst) + "=300:0," + kSecond + "=400:100");
  EXPECT_EQ(ReadParts(PartsText(parts)), parts);
}

TEST(PartsText, WhatIsNoneSaysNothing) {
  for (const char* text : {"", ",", "GPU-1", "GPU-1=", "GPU-1=1", "GPU-1=1:", "GPU-1=0:1",
                           "GPU-1=1:-1", "GPU-1=1:101", "GPU-1=-1:1", "GPU-1=1:1,", "=1:1",
                           "GPU-1:1=1", "GPU-1=1:1x", "GPU-1=99999999999999999999:1"}) {
    EXPECT_EQ(ReadParts(text), std::nullopt) << text;
  }
}

TEST(FractionDocument, HasWhatItsDevicesNeedAndNothingOfOthers) {
  Rendering rendering;
  rendering.strategies = {Strategy::kCdiCri};
  rendering.cdi_kind = "ab.com/gpu";
  rendering.fractions = Parts(2);
  const cdi::Parts described{.common = {.env = {"NVIDIA_VISIBLE_DEVICES=void"}},
                             .devices = {{kFirst, {.nodes = {{.path = "/dev/nvidia0"}}}},
                                         {kSecond, {.nodes = {{.path = "/dev/nvidia1"}}}}}};
  const std::vector<Fraction> parts = {{kSecond, 400, 20}};

  const auto document =
      FractionDocument(TwoCards(1000, 2), rendering,
                       NewFractionGrant(*rendering.fractions, "name", parts), &described);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->kind, "ab.com/grant");
  EXPECT_EQ(document->edits, cdi::Edits());
  ASSERT_EQ(document->devices.size(), 1U);
  const cdi::Edits& edits = document->devices[0].edits;
  EXPECT_EQ(edits.nodes, std::vector<cdi::Node>{{.path = "/dev/nvidia1"}});
  EXPECT_EQ(edits.env, (std::vector<std::string>{
                           "NVIDIA_VISIBLE_DEVICES=void", "CUDA_DEVICE_MEMORY_LIMIT_0=400m",
                           "CUDA_DEVICE_MEMORY_SHARED_CACHE=/usr/local/vgpu/name.cache",
                           "CUDA_DEVICE_SM_LIMIT=20", "CUDA_DEVICE_SM_LIMIT_0=20"}));
  EXPECT_EQ(edits.mounts.size(), 7U);
}

// A set-user-ID program or a device node that a container leaves must have no effect.
TEST(FractionDocument, WhatAContainerWritesIsData) {
  Rendering rendering;
  rendering.cdi_kind = "ab.com/gpu";
  rendering.fractions = Parts(2);
  const std::vector<Fraction> parts = {{kFirst, 300, 20}};
  const auto document = FractionDocument(
      TwoCards(1000, 2), rendering, NewFractionGrant(*rendering.fractions, "name", parts), nullptr);
  ASSERT_TRUE(document) << document.error().message;
  const std::vector<std::string> data = {"rbind", "rprivate", "nosuid", "nodev", "noexec", "rw"};
  const std::vector<std::string> read_only = {"rbind", "rprivate", "ro"};
  for (const cdi::Mount& mount : document->devices[0].edits.mounts) {
    const bool written =
        mount.container_path == "/usr/local/vgpu" || mount.container_path == "/tmp/vgpulock";
    EXPECT_EQ(mount.options, written ? data : read_only) << mount.container_path;
  }
}

TEST(FractionDocument, CountsCardsAsTheContainerSeesThemNow) {
  Rendering rendering;
  rendering.cdi_kind = "ab.com/gpu";
  rendering.fractions = Parts(2);
  const std::vector<Fraction> parts = {{kFirst, 300, 20}, {kSecond, 400, 20}};  // in a former order
  const cdi::Parts described;
  const auto document =
      FractionDocument(TwoCards(1000, 2, -1), rendering,
                       NewFractionGrant(*rendering.fractions, "name", parts), &described);
  ASSERT_TRUE(document) << document.error().message;
  const std::vector<std::string>& env = document->devices[0].edits.env;
  EXPECT_EQ(std::ranges::count(env, "CUDA_DEVICE_MEMORY_LIMIT_0=400m"), 1);
  EXPECT_EQ(std::ranges::count(env, "CUDA_DEVICE_MEMORY_LIMIT_1=300m"), 1);
}

TEST(FractionDocument, IsNotForADeviceThatIsGone) {
  Rendering rendering;
  rendering.cdi_kind = "ab.com/gpu";
  rendering.fractions = Parts(2);
  const std::vector<Fraction> parts = {{"GPU-1", 400, 20}};
  const auto document = FractionDocument(
      TwoCards(1000, 2), rendering, NewFractionGrant(*rendering.fractions, "name", parts), nullptr);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "nvidia.com/gpu: device GPU-1 no longer exists");
}

TEST(GateOf, IsInADirectoryOfItsOwn) {
  EXPECT_EQ(GateOf(Parts(2), "1a"), "/usr/local/vgpu/grants/1a");
}

TEST(Allocate, WithoutCdiWhatPodsAskForIsNobodysWhereNobodySaysWhose) {
  Rendering rendering;
  rendering.strategies = {Strategy::kEnvvar};
  rendering.fractions = Parts(2);
  rendering.fractions->requests.emplace();
  const std::vector<std::string> ids = {ShareOf(kFirst, 0)};
  EXPECT_EQ(
      Allocate(TwoCards(1000, 2), rendering, ids, "name").error(),
      (Error{Reason::kNotMatched,
             "nvidia.com/gpu: without CDI the agent must know the pod at Allocate, but does not"}));
}

TEST(Allocate, AMatchedGrantHasTheDevicesOfItsMatchInTheirOrder) {
  Rendering rendering;
  rendering.strategies = {Strategy::kEnvvar, Strategy::kDeviceSpecs};
  rendering.env = "NVIDIA_VISIBLE_DEVICES";
  rendering.fractions = Parts(2);
  rendering.fractions->requests.emplace();
  const std::vector<std::string> ids = {ShareOf(kFirst, 0), ShareOf(kFirst, 1)};
  const FractionMatch match{.pod_uid = "uid",
                            .container = "app",
                            .parts = {{kFirst, 300, 0}, {kSecond, 400, 20}},
                            .directory = "/usr/local/vgpu/containers/uid_app"};
  const Grant grant = Allocate(TwoCards(1000, 2, -1), rendering, ids, "name", &match).value();
  EXPECT_EQ(grant.envs.at("NVIDIA_VISIBLE_DEVICES"), std::string(kSecond) + "," + kFirst);
  EXPECT_EQ(grant.envs.at("CUDA_DEVICE_MEMORY_LIMIT_0"), "400m");
  EXPECT_EQ(grant.envs.at("CUDA_DEVICE_MEMORY_LIMIT_1"), "300m");
  EXPECT_EQ(grant.annotations.at(kPartsAnnotation),
            std::string(kSecond) + "=400:20," + kFirst + "=300:0");
  ASSERT_EQ(grant.devices.size(), 3U);
  EXPECT_EQ(grant.devices[2].host_path, "/usr/local/vgpu/grants/name");
}

TEST(GrantFileName, SaysWhoseItIs) {
  EXPECT_EQ(GrantFileName("1a"), "tessera-grant-1a.json");
}

}  // namespace
}  // namespace tessera
