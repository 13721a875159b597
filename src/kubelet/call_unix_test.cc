// SPDX-License-Identifier: Apache-2.0
#include "kubelet/call_unix.h"

#include <gtest/gtest.h>

#include "amd/exporter.h"
#include "os/files.h"

namespace tessera::kubelet {
namespace {

constexpr char kMethod[] = "/gpumetricssvc.MetricsService/List";
constexpr Duration kLong{20'000};

class CallUnixTest : public testing::Test {
 protected:
  ~CallUnixTest() override { (void)os::RemoveTree(directory_); }

  const std::string directory_ = os::MakeTemporaryDirectory(testing::TempDir() + "call").value();
  const std::string socket_ = directory_ + "/s";
};

TEST_F(CallUnixTest, TheAnswerIsItsBytes) {
  fake::AmdExporter server(socket_);
  EXPECT_EQ(CallUnix(socket_, kMethod, "", kLong), "");
  server.SetBytes(std::string("\x00\xff text", 7));
  EXPECT_EQ(CallUnix(socket_, kMethod, "", kLong), std::string("\x00\xff text", 7));
}

TEST_F(CallUnixTest, WithoutAServerItIsUnavailable) {
  const auto answer = CallUnix(socket_, kMethod, "", kLong);
  EXPECT_EQ(answer.error().reason, Reason::kUnavailable);
  EXPECT_TRUE(answer.error().message.starts_with("calling /gpumetricssvc.MetricsService/List at " +
                                                 socket_ + ": "))
      << answer.error().message;
}

TEST_F(CallUnixTest, AnUnknownMethodIsNotFound) {
  const fake::AmdExporter server(socket_, "metricssvc");
  EXPECT_EQ(CallUnix(socket_, kMethod, "", kLong).error(),
            (Error{Reason::kNotFound, "calling /gpumetricssvc.MetricsService/List at " + socket_ +
                                          ": unknown service"}));
}

TEST_F(CallUnixTest, AServerThatHangsCostsTheTimeout) {
  fake::AmdExporter server(socket_);
  server.Hang();
  EXPECT_EQ(CallUnix(socket_, kMethod, "", Duration(50)).error().reason, Reason::kTimedOut);
}

TEST_F(CallUnixTest, AnAnswerBeyondAMebibyteIsRefused) {
  fake::AmdExporter server(socket_);
  server.SetBytes(std::string((1U << 20U) + 1, 'x'));
  EXPECT_EQ(CallUnix(socket_, kMethod, "", kLong).error().reason, Reason::kInvalid);
}

}  // namespace
}  // namespace tessera::kubelet
