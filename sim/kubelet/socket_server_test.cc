// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/socket_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "os/unix_socket.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"

namespace tessera::kubelet::embedded {
namespace {

class Serving : public testing::Test {
 protected:
  void SetUp() override {
    directory = *os::MakeTemporaryDirectory(testing::TempDir() + "server-");
    path = directory + "/s.sock";
  }
  void TearDown() override { (void)os::RemoveTree(directory); }

  std::unique_ptr<SocketServer> Start() {
    auto server = SocketServer::Start(
        path, std::make_shared<pluginregistration::Registration::CallbackService>());
    EXPECT_TRUE(server);
    return server ? *std::move(server) : nullptr;
  }

  std::string directory;
  std::string path;
};

TEST_F(Serving, AConnectionIsServedUntilClose) {
  auto server = Start();
  auto channel = grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  pluginregistration::PluginInfo info;
  grpc::Status status =
      pluginregistration::Registration::NewStub(channel)->GetInfo(&context, {}, &info);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  server->Close(false);
  EXPECT_FALSE(os::Exists(path));
}

TEST_F(Serving, AnAbruptEndLeavesTheSocketAndANewServerTakesItsPlace) {
  auto first = Start();
  first->Close(true);
  EXPECT_TRUE(os::Exists(path));
  EXPECT_FALSE(os::IsListening(path));
  auto second = Start();
  EXPECT_TRUE(os::IsListening(path));
  // The end of the first must not take the second's socket away.
  first.reset();
  EXPECT_TRUE(os::IsListening(path));
}

TEST_F(Serving, ALongPathIsAnError) {
  auto server =
      SocketServer::Start(directory + "/" + std::string(120, 'x'),
                          std::make_shared<pluginregistration::Registration::CallbackService>());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().reason, Reason::kSocketPathTooLong);
}

}  // namespace
}  // namespace tessera::kubelet::embedded
