// SPDX-License-Identifier: Apache-2.0
#include "monitor/sampling.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/server.h"
#include "monitor/fake_sampler_test.h"

namespace tessera::monitor {
namespace {

class SamplingTest : public testing::Test {
 protected:
  SamplingTest() { sampler_->Have({{.uuid = "GPU-b", .index = 1}, {.uuid = "GPU-a", .index = 2}}); }
  ~SamplingTest() override { sampler_->Hang(""); }

  // The number of the device's last sample; 0: none.
  uint64_t Last(const std::string& uuid) const {
    for (const DeviceState& state : sampling_.States()) {
      if (state.device.uuid == uuid && state.sample) return *state.sample->memory_used;
    }
    return 0;
  }
  // Ticks with time until it is so.
  void Await(const std::function<bool()>& is) {
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
      clock_.Advance(Duration(500));
      sampling_.Tick();
      return is();
    }));
  }

  os::Loop loop_;
  FakeClock clock_;
  const std::shared_ptr<FakeSampler> sampler_ = std::make_shared<FakeSampler>();
  Sampling sampling_{loop_, clock_, sampler_};
};

TEST_F(SamplingTest, DevicesAreSampledAgainAndAgainAndListedByTheirIndex) {
  Await([&] { return Last("GPU-a") >= 3 && Last("GPU-b") >= 3; });
  ASSERT_EQ(sampling_.States().size(), 2U);
  EXPECT_EQ(sampling_.States().front().device.uuid, "GPU-b");
}

TEST_F(SamplingTest, ADeviceThatHangsKeepsItsLastSampleAndCostsNoOther) {
  Await([&] { return Last("GPU-a") >= 1; });
  sampler_->Hang("GPU-a");
  const uint64_t before = Last("GPU-b");
  Await([&] { return Last("GPU-b") >= before + 5; });
  const uint64_t kept = Last("GPU-a");
  const Steady at = sampling_.States().back().sampled_at;
  EXPECT_GE(kept, 1U);
  EXPECT_LT(at, sampling_.States().front().sampled_at);
  sampler_->Hang("");
  Await([&] { return Last("GPU-a") > kept; });
}

TEST_F(SamplingTest, ALostDeviceKeepsItsLastSampleAndCostsNoOther) {
  Await([&] { return Last("GPU-a") >= 1; });
  sampler_->Lose("GPU-a");
  const uint64_t before = Last("GPU-b");
  Await([&] { return Last("GPU-b") >= before + 5; });
  EXPECT_GE(Last("GPU-a"), 1U);
}

TEST_F(SamplingTest, ADeviceThatAnotherReplacedIsLeftOut) {
  Await([&] { return sampling_.States().size() == 2; });
  sampler_->Have({{.uuid = "GPU-b", .index = 1}, {.uuid = "GPU-c", .index = 2}});
  Await([&] { return Last("GPU-c") >= 1; });
  EXPECT_EQ(sampling_.States().size(), 2U);
}

TEST_F(SamplingTest, WhileItIsReleasedNoDeviceIsSampled) {
  Await([&] { return Last("GPU-a") >= 1; });
  sampling_.SetReleased(true);
  EXPECT_TRUE(sampler_->released());
  sampling_.SetReleased(false);
  const uint64_t kept = Last("GPU-a");
  Await([&] { return Last("GPU-a") > kept; });
}

}  // namespace
}  // namespace tessera::monitor
