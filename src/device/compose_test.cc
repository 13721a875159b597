// SPDX-License-Identifier: Apache-2.0
#include "device/compose.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const DeviceNode kControl{"/dev/ctl", "/dev/ctl", "rw"};

Device Part(const std::string& source, const std::string& id, int numa) {
  Device device;
  device.key = {source, id};
  device.model = source;
  device.visible_as = id;
  device.numa_nodes = {numa};
  device.nodes = {{"/dev/" + id, "/dev/" + id, "rw"}, kControl};
  device.traits = DeviceTraits{.variables = {{"ADDRESSES", "address of " + id}}, .takes = {id}};
  return device;
}

TEST(Compose, TheWholeHasWhatAContainerNeedsOfBoth) {
  const Device gpu = Part("a.com/gpu", "gpu0", 1);
  const Device nic = Part("a.com/nic", "nic0", 0);

  const Device pair = Compose({"a.com/pair", "0"}, {gpu, "GPUS"}, {nic});

  Device expected;
  expected.key = {"a.com/pair", "0"};
  expected.model = "a.com/gpu + a.com/nic";
  expected.visible_as = "0";
  expected.numa_nodes = {0, 1};
  expected.nodes = {gpu.nodes[0], kControl, nic.nodes[0]};
  expected.traits = DeviceTraits{
      .variables = {{"ADDRESSES", "address of gpu0,address of nic0"}, {"GPUS", "gpu0"}},
      .takes = {"gpu0", "a.com/gpu/gpu0", "nic0", "a.com/nic/nic0"},
      .parts = {gpu.key, nic.key}};
  EXPECT_EQ(pair, expected);
}

TEST(Compose, ASharedPartIsNotTaken) {
  const Device gpu = Part("a.com/gpu", "gpu0", 0);
  const Device nic = Part("a.com/nic", "nic0", 0);

  const Device pair =
      Compose({"a.com/pair", "0"}, {.device = gpu}, {.device = nic, .shared = true});

  EXPECT_EQ(pair.traits->takes, (std::vector<std::string>{"gpu0", "a.com/gpu/gpu0"}));
  EXPECT_EQ(pair.traits->parts, (std::vector<DeviceKey>{gpu.key, nic.key}));
}

}  // namespace
}  // namespace tessera
