// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <vector>

#include "kubelet/channel.h"
#include "os/files.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"

namespace tessera::kubelet {
namespace {

using Endpoints = std::vector<std::string>;

// A kubelet that accepts every registration and does no more.
class FakeKubelet : public v1beta1::Registration::Service {
 public:
  explicit FakeKubelet(const Directories& directories) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directories.kubelet_socket(),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeKubelet() override { server_->Shutdown(); }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    std::lock_guard lock(mutex_);
    if (std::exchange(refuse_next_, false)) return {grpc::StatusCode::UNAVAILABLE, "not yet"};
    endpoints_.push_back(request->endpoint());
    return grpc::Status::OK;
  }
  void RefuseNext() {
    std::lock_guard lock(mutex_);
    refuse_next_ = true;
  }
  Endpoints endpoints() {
    std::lock_guard lock(mutex_);
    return endpoints_;
  }

 private:
  std::mutex mutex_;
  bool refuse_next_ = false;
  Endpoints endpoints_;
  std::unique_ptr<grpc::Server> server_;
};

// Answers Allocate when the test allows it.
class SlowHandler : public PluginHandler {
 public:
  void Allocate(const std::vector<std::string>&, std::function<void(Result<Grant>)> done) override {
    allocating_.count_down();
    answer_.wait();
    done(Grant());
  }
  std::vector<std::string> Prefer(const std::vector<std::string>&, const std::vector<std::string>&,
                                  int) override {
    return {};
  }
  void PreStart(const std::vector<std::string>&, std::function<bool()>,
                std::function<void(Status)> done) override {
    done({});
  }

  std::latch allocating_{1};
  std::latch answer_{1};
};

class PluginTest : public testing::Test, public PluginObserver {
 protected:
  PluginTest() {
    for (const std::string& path : {directories_.device_plugins(), directories_.registry()}) {
      EXPECT_TRUE(os::MakeDirectories(path));
    }
  }
  ~PluginTest() override {
    plugin_.reset();
    EXPECT_TRUE(os::RemoveTree(directories_.root));
  }

  void Open(RegistrationPath path = RegistrationPath::kKubeletSocket) {
    plugin_ = std::make_unique<Plugin>(
        loop_, workers_,
        Plugin::Parameters{
            .resource = "dummy.com/npu", .path = path, .directories = directories_, .options = {}},
        handler_, *this);
    plugin_->Open();
  }
  void Publish() { plugin_->Publish(std::make_shared<const std::string>()); }
  // Runs the loop until kubelet has accepted, or a stream is open. Ends a kubelet, but keeps its
  // socket under another name. Otherwise the next socket could get the same inode and time stamp,
  // and the two could not be distinguished.
  void End(std::unique_ptr<FakeKubelet> kubelet) const {
    const std::string socket = directories_.kubelet_socket();
    ASSERT_EQ(rename(socket.c_str(), (socket + ".former").c_str()), 0);
    kubelet.reset();
  }
  void AwaitRegistration() { loop_.Run(); }
  void AwaitStream() { loop_.Run(); }
  std::string Socket() const {
    const std::string path = plugin_->socket_path();
    return path.substr(path.rfind('/') + 1);
  }

  void StateChanged(const std::string&, PluginState) override {}
  void Registered(const std::string&, const Status& status) override {
    if (status) loop_.Stop();
  }
  void StreamsChanged(const std::string&, int streams) override {
    if (streams > 0) loop_.Stop();
  }
  void ListSent(const std::string&, size_t) override {}

  const Directories directories_{os::MakeTemporaryDirectory("/tmp/plugin_test-").value()};
  os::Loop loop_;
  os::Workers workers_{4};
  const std::shared_ptr<SlowHandler> handler_ = std::make_shared<SlowHandler>();
  std::unique_ptr<Plugin> plugin_;
};

TEST_F(PluginTest, ServesBeforeTheFirstListAndIsRegisteredWithIt) {
  FakeKubelet kubelet(directories_);
  Open();
  const std::string socket = Socket();
  EXPECT_TRUE(os::Exists(directories_.device_plugins() + "/" + socket));
  EXPECT_EQ(plugin_->state(), PluginState::kWaiting);

  Publish();
  AwaitRegistration();

  EXPECT_EQ(kubelet.endpoints(), Endpoints{socket});
  EXPECT_EQ(plugin_->state(), PluginState::kRegistered);
}

TEST_F(PluginTest, AnotherKubeletBeforeTheFirstListGetsASocketOfItsOwn) {
  auto former = std::make_unique<FakeKubelet>(directories_);
  Open();
  const std::string socket = Socket();
  End(std::move(former));
  FakeKubelet kubelet(directories_);

  Publish();
  AwaitRegistration();

  EXPECT_EQ(kubelet.endpoints(), Endpoints{Socket()});
  EXPECT_NE(Socket(), socket);
}

TEST_F(PluginTest, AnotherKubeletDoesNotWaitForAnEndpointWhoseEndHangs) {
  auto former = std::make_unique<FakeKubelet>(directories_);
  Open();
  Publish();
  AwaitRegistration();
  auto stub = v1beta1::DevicePlugin::NewStub(FreshChannel(plugin_->socket_path()));
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("0");
  v1beta1::AllocateResponse response;
  std::promise<void> answered;
  stub->async()->Allocate(&context, &request, &response,
                          [&](const grpc::Status&) { answered.set_value(); });
  handler_->allocating_.wait();
  End(std::move(former));
  FakeKubelet kubelet(directories_);
  kubelet.RefuseNext();

  plugin_->PollSockets();
  AwaitRegistration();

  EXPECT_EQ(kubelet.endpoints(), Endpoints{Socket()});
  handler_->answer_.count_down();
  answered.get_future().get();
}

TEST_F(PluginTest, IsNeverRegisteredOnASocketWithAnOpenStream) {
  FakeKubelet kubelet(directories_);
  Open();
  const std::string socket = Socket();
  auto stranger = v1beta1::DevicePlugin::NewStub(FreshChannel(plugin_->socket_path()));
  grpc::ClientContext context;
  auto stream = stranger->ListAndWatch(&context, {});
  AwaitStream();

  Publish();
  AwaitRegistration();

  EXPECT_EQ(kubelet.endpoints(), Endpoints{Socket()});
  EXPECT_NE(Socket(), socket);
  context.TryCancel();
  (void)stream->Finish();
}

TEST_F(PluginTest, ThePluginWatcherFindsNoSocketBeforeTheFirstList) {
  Open(RegistrationPath::kPluginWatcher);
  EXPECT_EQ(SocketsIn(directories_, "tessera"), std::set<std::string>());

  Publish();

  EXPECT_EQ(SocketsIn(directories_, "tessera"), std::set<std::string>{plugin_->socket_path()});
  EXPECT_EQ(plugin_->state(), PluginState::kRegistering);
}

}  // namespace
}  // namespace tessera::kubelet
