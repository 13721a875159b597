// SPDX-License-Identifier: Apache-2.0
// With a driver in the process: test/limiter.
#include "limiter/memory/devices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::limiter {
namespace {

TEST(DevicesTest, AUuidIsWrittenAsNvmlWritesIt) {
  CUuuid uuid;
  const unsigned char bytes[] = {0x8d, 0xcd, 0x42, 0x7f, 0x48, 0x3b, 0xb4, 0x8f,
                                 0xd7, 0xe5, 0x75, 0xfb, 0x19, 0xa5, 0x2b, 0x76};
  std::copy(std::begin(bytes), std::end(bytes), uuid.bytes);
  EXPECT_STREQ(WriteUuid(uuid, false).text, "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76");
  EXPECT_STREQ(WriteUuid(uuid, true).text, "MIG-8dcd427f-483b-b48f-d7e5-75fb19a52b76");
}

TEST(DevicesTest, WithoutADriverNoDeviceIsLimited) {
  EXPECT_EQ(PlaceOfDevice(0), -1);
  EXPECT_EQ(PlaceOfDevice(-1), -1);
  EXPECT_EQ(CurrentPlace(), -1);
  EXPECT_EQ(PlaceOfPointer(1), -1);
}

}  // namespace
}  // namespace tessera::limiter
