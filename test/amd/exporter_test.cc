// SPDX-License-Identifier: Apache-2.0
// The backend's question to a metrics exporter, over gRPC.
#include "amd/exporter.h"

#include <gtest/gtest.h>

#include "backend/amd/exporter.h"
#include "kubelet/call_unix.h"
#include "os/files.h"

namespace tessera::amd {
namespace {

class ExporterTest : public testing::TestWithParam<const char*> {
 protected:
  ~ExporterTest() override { (void)os::RemoveTree(directory_); }

  const std::string directory_ = os::MakeTemporaryDirectory(testing::TempDir() + "amd").value();
  const std::string socket_ = directory_ + "/s";
};

TEST_P(ExporterTest, TheHealthOfItsGpusIsKnown) {
  fake::AmdExporter exporter(socket_, GetParam());
  exporter.Set({{"0000:05:00.0", "healthy"}, {"0000:05:00.3", "unhealthy"}});
  EXPECT_EQ(AskExporter(kubelet::CallUnix, socket_),
            (ExporterWords{{"0000:05:00.0", false}, {"0000:05:00.3", true}}));
}

INSTANTIATE_TEST_SUITE_P(InThePackage, ExporterTest, testing::Values("gpumetricssvc", "metricssvc"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::amd
