// SPDX-License-Identifier: Apache-2.0
#include "cuda/node.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tessera::fake_cuda {
namespace {

std::vector<Device> Named(std::initializer_list<const char*> uuids) {
  std::vector<Device> devices;
  for (const char* uuid : uuids) devices.emplace_back().uuid = uuid;
  return devices;
}

std::string Seen(const char* names) {
  const auto gpus = Named({"GPU-aa11", "GPU-aa22", "GPU-bb"});
  const auto migs = Named({"MIG-11", "MIG-22"});
  std::string seen;
  for (const Device& device : Visible(gpus, migs, names)) seen += device.uuid + " ";
  return seen;
}

TEST(VisibleDevices, AreChosenAsCudaChoosesThem) {
  const std::pair<const char*, const char*> rows[] = {
      {nullptr, "GPU-aa11 GPU-aa22 GPU-bb "},
      {"", ""},
      {"2,0", "GPU-bb GPU-aa11 "},
      {"0,3,1", "GPU-aa11 "},
      {"-1,0", ""},
      {"GPU-aa2,GPU-b", "GPU-aa22 GPU-bb "},
      {"GPU-a", ""},  // ambiguous
      {"GPU-", ""},
      {"0,GPU-aa11", ""},  // a device named twice
      {"MIG-22,MIG-11", "MIG-22 "},
  };
  for (const auto& [names, seen] : rows) {
    EXPECT_EQ(Seen(names), seen) << (names == nullptr ? "nothing" : names);
  }
}

TEST(FakeOptions, HaveUnitsInTheirNames) {
  const Options options =
      ParseOptions("context-mib=3,context-ms=4,late-ms=5,jitter=6,slice-us=7,sms=188");
  EXPECT_EQ(options.context_bytes, 3U << 20);
  EXPECT_EQ(options.context_ns, 4'000'000U);
  EXPECT_EQ(options.late_ns, 5'000'000U);
  EXPECT_EQ(options.jitter_percent, 6U);
  EXPECT_EQ(options.multiprocessors, 188U);
  EXPECT_EQ(options.slice_ns, 7'000U);
}

TEST(FakeOptions, ThatAreNoneAreNamed) {
  const std::pair<const char*, const char*> rows[] = {
      {"contexts=1", "TESSERA_FAKE_CUDA_OPTIONS: there is no option \"contexts\""},
      {"jitter=x", "TESSERA_FAKE_CUDA_OPTIONS: jitter has no number"},
      {"jitter", "TESSERA_FAKE_CUDA_OPTIONS: jitter has no number"},
  };
  for (const auto& [text, message] : rows) {
    std::string said;
    try {
      ParseOptions(text);
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, message);
  }
}

}  // namespace
}  // namespace tessera::fake_cuda
