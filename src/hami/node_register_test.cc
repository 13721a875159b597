// SPDX-License-Identifier: Apache-2.0
#include "hami/node_register.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::hami {
namespace {

constexpr char kTwoGpus[] =
    R"([{"id":"GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76","count":10,"devmem":81920,"devcore":100,)"
    R"("type":"NVIDIA A100-SXM4-80GB","mode":"hami-core","health":true},)"
    R"({"id":"GPU-ebe7c3f7-303d-558d-435e-99a160631fe4","index":1,"count":10,"devmem":81920,)"
    R"("devcore":100,"type":"NVIDIA A100-SXM4-80GB","numa":1,"mode":"hami-core"}])";

std::vector<RegisteredDevice> TwoGpus() {
  RegisteredDevice first = {.id = "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76",
                            .count = 10,
                            .devmem = 81920,
                            .devcore = 100,
                            .type = "NVIDIA A100-SXM4-80GB",
                            .mode = "hami-core",
                            .health = true};
  RegisteredDevice second = first;
  second.id = "GPU-ebe7c3f7-303d-558d-435e-99a160631fe4";
  second.index = 1;
  second.numa = 1;
  second.health = false;
  return {first, second};
}

constexpr char kOld[] =
    "GPU-0055b0ec,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,0,true,0,hami-core:"
    "GPU-0fc31448,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,0,true,1,hami-core:";

std::vector<RegisteredDevice> OldGpus() {
  RegisteredDevice first = {.id = "GPU-0055b0ec",
                            .count = 10,
                            .devmem = 32768,
                            .devcore = 100,
                            .type = "NVIDIA-Tesla V100-PCIE-32GB",
                            .mode = "hami-core",
                            .health = true};
  RegisteredDevice second = first;
  second.id = "GPU-0fc31448";
  second.index = 1;
  return {first, second};
}

std::string RegisterError(std::string_view text) {
  const auto devices = DecodeRegister(text);
  return devices ? "" : devices.error().message;
}

std::string OldError(std::string_view text) {
  const auto devices = DecodeOldRegister(text);
  return devices ? "" : devices.error().message;
}

TEST(NodeRegister, IsWrittenAsHamiWritesIt) {
  EXPECT_EQ(EncodeRegister(TwoGpus()), kTwoGpus);
}

TEST(NodeRegister, WhatHamiWroteIsRead) {
  const auto devices = DecodeRegister(kTwoGpus);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(*devices, TwoGpus());
}

TEST(NodeRegister, ANodeWithoutGpusIsAnEmptyList) {
  EXPECT_EQ(EncodeRegister({}), "[]");
  EXPECT_EQ(DecodeRegister("[]"), std::vector<RegisteredDevice>());
  EXPECT_EQ(DecodeRegister("null"), std::vector<RegisteredDevice>());
}

TEST(NodeRegister, TheOrderIsThatOfTheIndices) {
  std::vector<RegisteredDevice> devices = TwoGpus();
  std::ranges::reverse(devices);
  EXPECT_EQ(EncodeRegister(devices), kTwoGpus);
  std::vector<RegisteredDevice> old = OldGpus();
  std::ranges::reverse(old);
  EXPECT_EQ(EncodeOldRegister(old), kOld);
}

TEST(NodeRegister, MigProfilesComeBeforeTheHealth) {
  const RegisteredDevice device = {
      .id = "GPU-a",
      .index = 3,
      .count = 7,
      .devmem = 40960,
      .devcore = 100,
      .type = "NVIDIA A100-SXM4-40GB",
      .mode = "mig",
      .mig_profiles = {{"1g.5gb", 4864, 15, 1, {{0, 1}, {1, 1}}}, {"7g.40gb", 40192, 100, 7, {}}},
      .health = true,
      .vendor = "NVIDIA"};
  constexpr char kText[] =
      R"([{"id":"GPU-a","index":3,"count":7,"devmem":40960,"devcore":100,)"
      R"("type":"NVIDIA A100-SXM4-40GB","mode":"mig","migProfiles":[)"
      R"({"name":"1g.5gb","memoryMB":4864,"core":15,"sliceCount":1,)"
      R"("placements":[{"start":0,"size":1},{"start":1,"size":1}]},)"
      R"({"name":"7g.40gb","memoryMB":40192,"core":100,"sliceCount":7,"placements":[]}],)"
      R"("health":true,"devicevendor":"NVIDIA"}])";
  EXPECT_EQ(EncodeRegister({&device, 1}), kText);
  EXPECT_EQ(DecodeRegister(kText), std::vector{device});
}

TEST(NodeRegister, WhatIsNotKnownIsPassedOver) {
  const auto devices = DecodeRegister(
      R"([{"id":"a","custominfo":{"x":[1]},"migtemplate":[[{"name":"1g"}]],"health":null}])");
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(*devices, (std::vector<RegisteredDevice>{{.id = "a"}}));
}

TEST(NodeRegister, WhatIsMissingIsZero) {
  EXPECT_EQ(DecodeRegister("[{}]"), std::vector<RegisteredDevice>(1));
}

TEST(NodeRegister, AnErrorSaysWhichDeviceAndMember) {
  EXPECT_EQ(RegisterError("{}"), "hami.io/node-nvidia-register: devices are not a list");
  EXPECT_EQ(RegisterError("[1]"), "hami.io/node-nvidia-register: device 0: not an object");
  EXPECT_EQ(RegisterError(R"([{},{"count":"10"}])"),
            "hami.io/node-nvidia-register: device 1: count is not a whole number");
  EXPECT_EQ(RegisterError(R"([{"devmem":2147483648}])"),
            "hami.io/node-nvidia-register: device 0: devmem is 2147483648, not between -2147483648 "
            "and 2147483647");
  EXPECT_EQ(RegisterError(R"([{"index":-1}])"),
            "hami.io/node-nvidia-register: device 0: index is -1, not between 0 and 4294967295");
  EXPECT_EQ(RegisterError(R"([{"health":1}])"),
            "hami.io/node-nvidia-register: device 0: health is not true or false");
  EXPECT_EQ(RegisterError(R"([{"type":1}])"),
            "hami.io/node-nvidia-register: device 0: type is not a string");
  EXPECT_EQ(RegisterError(R"([{"migProfiles":[{"placements":[{},{"size":-1}]}]}])"),
            "hami.io/node-nvidia-register: device 0: profile 0: placement 1: size is -1, not "
            "between 0 and 4294967295");
  EXPECT_TRUE(RegisterError("[").starts_with("hami.io/node-nvidia-register: JSON, offset 1"));
}

TEST(OldRegister, IsWrittenAsHamiWroteIt) {
  EXPECT_EQ(EncodeOldRegister(OldGpus()), kOld);
  EXPECT_EQ(EncodeOldRegister({}), "");
}

TEST(OldRegister, WhatHamiWroteIsRead) {
  const auto devices = DecodeOldRegister(kOld);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(*devices, OldGpus());
}

TEST(OldRegister, WithSevenFieldsTheIndexIsZeroAndTheModeHamiCore) {
  std::vector<RegisteredDevice> expected = OldGpus();
  expected.pop_back();
  EXPECT_EQ(DecodeOldRegister("GPU-0055b0ec,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,0,true:"),
            expected);
}

TEST(OldRegister, PartsThatAreNoDevicesArePassedOver) {
  EXPECT_EQ(DecodeOldRegister(std::string("::x:") + kOld + ":"), OldGpus());
}

TEST(OldRegister, AnErrorSaysWhatIsWrong) {
  EXPECT_EQ(OldError(""), "hami.io/node-nvidia-register: no device ends with ':'");
  EXPECT_EQ(OldError("a,1,2,3,t,0,true"), "hami.io/node-nvidia-register: no device ends with ':'");
  EXPECT_EQ(OldError("a,1,2,3,t,0,true,0:"),
            "hami.io/node-nvidia-register: a device has 8 fields, not 7 or 9");
  EXPECT_EQ(OldError("a,1,2.5,3,t,0,true:"),
            "hami.io/node-nvidia-register: devmem is 2.5, not a number");
  EXPECT_EQ(OldError("a,1,2,3,t,0,yes:"),
            "hami.io/node-nvidia-register: health is yes, not a bool");
  EXPECT_EQ(OldError("a,1,2,3,t,0,true,-1,mig:"),
            "hami.io/node-nvidia-register: index is negative: -1");
}

RegisteredDevice RandomDevice(std::mt19937& random) {
  const auto number = [&] { return random() % 3 == 0 ? 0 : static_cast<int32_t>(random()); };
  const auto text = [&] {
    std::string made;
    for (auto left = random() % 12; left > 0; --left) {
      made += "aZ09- _.\"\\/\n<\xC3\xA4"[random() % 13];
      if (made.back() == '\xC3') made += '\xA4';
    }
    return made;
  };
  RegisteredDevice device = {.id = text(),
                             .index = static_cast<uint32_t>(number()),
                             .count = number(),
                             .devmem = number(),
                             .devcore = number(),
                             .type = text(),
                             .numa = number(),
                             .mode = text(),
                             .health = random() % 2 == 0,
                             .vendor = text()};
  for (auto left = random() % 3; left > 0; --left) {
    device.mig_profiles.push_back({text(), number(), number(), number(), {}});
    for (auto more = random() % 3; more > 0; --more) {
      device.mig_profiles.back().placements.push_back(
          {static_cast<uint32_t>(number()), static_cast<uint32_t>(number())});
    }
  }
  return device;
}

TEST(NodeRegister, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<RegisteredDevice> devices;
    for (auto left = random() % 9; left > 0; --left) devices.push_back(RandomDevice(random));
    std::ranges::sort(devices, {}, &RegisteredDevice::index);
    const std::string text = EncodeRegister(devices);
    const auto read = DecodeRegister(text);
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(EncodeRegister(*read), text);
    ASSERT_TRUE(std::ranges::is_permutation(*read, devices)) << text;
  }
}

TEST(OldRegister, WhateverIsWrittenIsReadBack) {
  std::mt19937 random(2);
  const auto number = [&] { return static_cast<int32_t>(random()); };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<RegisteredDevice> devices;
    for (uint32_t i = 0; i <= random() % 9; ++i) {
      devices.push_back({.id = "GPU-" + std::to_string(random()),
                         .index = i,
                         .count = number(),
                         .devmem = number(),
                         .devcore = number(),
                         .type = "NVIDIA A" + std::to_string(random() % 100),
                         .numa = number(),
                         .mode = random() % 2 == 0 ? "" : "mig",
                         .health = random() % 2 == 0});
    }
    ASSERT_EQ(DecodeOldRegister(EncodeOldRegister(devices)), devices);
  }
}

TEST(TypeName, BeginsWithTheVendorOnce) {
  EXPECT_EQ(TypeName(kNvidia, "Tesla P4"), "NVIDIA-Tesla P4");
  EXPECT_EQ(TypeName(kNvidia, "NVIDIA A30"), "NVIDIA A30");
}

TEST(NodeRegister, WhatAPluginAddsIsReadWhereItIsTextOrANumber) {
  const auto devices = DecodeRegister(
      R"([{"id":"a","custominfo":{"NetworkID":1,"how":"die","list":[]}},{"id":"b","custominfo":7}])");
  ASSERT_TRUE(devices) << devices.error().message;
  using Custom = std::map<std::string, std::string, std::less<>>;
  EXPECT_EQ(devices->front().custom, (Custom{{"NetworkID", "1"}, {"how", "die"}}));
  EXPECT_EQ(devices->back().custom, Custom{});
  EXPECT_EQ(DecodeRegister(EncodeRegister(*devices)), *devices);
}

}  // namespace
}  // namespace tessera::hami
