// SPDX-License-Identifier: Apache-2.0
// A share of the time of a MIG device, which has multiprocessors of its own.
#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

constexpr char kMig[] = "MIG-475ca09a-721e-4aa6-aad7-81a9e50bf40c";

class MigShareTest : public ShareTest {
 protected:
  MigShareTest() : ShareTest("8xh100-mig") {
    node_.Set("CUDA_VISIBLE_DEVICES", kMig);
    uuid_ = kMig;
    limits_.source = Source::kFile;
    std::strcpy(limits_.devices[0].uuid, kMig);
  }
};

TEST_F(MigShareTest, LaunchesOnAMigDeviceAreOfItsShare) {
  Run([&] { ExpectShare([&] { return Spin(2 * kMs); }, 2 * kMs); });
}

}  // namespace
}  // namespace tessera::limiter
