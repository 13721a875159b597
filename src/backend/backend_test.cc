// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// The least a kind of device must bring.
class PlainBackend : public Backend {
 public:
  Status Start(BackendEvents&) override { return {}; }
  void Stop() override {}
  Result<std::vector<Device>> Scan() override { return std::vector<Device>{}; }
  Evidence Check(const Device&) override { return {}; }
};

TEST(BackendTest, ResetDoesNothingByDefault) {
  PlainBackend backend;

  EXPECT_TRUE(backend.Reset({}));
}

}  // namespace
}  // namespace tessera
