// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>

#include "kubelet/channel.h"
#include "os/files.h"
#include "os/unix_socket.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"

namespace tessera::kubelet {
namespace {

class FakeHandler : public PluginHandler {
 public:
  void Allocate(const std::vector<std::string>& ids,
                std::function<void(Result<Grant>)> done) override {
    if (ids == std::vector<std::string>{"9"}) return done(Fail(Reason::kUnknownShare, "no id 9"));
    if (ids == std::vector<std::string>{"later"}) {
      held_.set_value(std::move(done));
      return;
    }
    if (ids == std::vector<std::string>{"dropped"}) return;
    Grant grant;
    grant.envs["IDS"] = ids.front();
    done(std::move(grant));
  }
  std::vector<std::string> Prefer(const std::vector<std::string>& available,
                                  const std::vector<std::string>&, int size) override {
    return {available.begin(), available.begin() + size};
  }
  void PreStart(const std::vector<std::string>& ids, std::function<bool()>,
                std::function<void(Status)> done) override {
    if (ids.front() == "hang") {
      kept_.push_back(std::move(done));
      return hanging_.count_down();
    }
    done(ids.front() == "0" ? Status() : Fail(Reason::kResetFailed, "stuck"));
  }

  std::latch hanging_{1};
  std::promise<std::function<void(Result<Grant>)>> held_;

 private:
  std::vector<std::function<void(Status)>> kept_;
};

ListBytes ListOf(const std::string& id) {
  v1beta1::ListAndWatchResponse list;
  list.add_devices()->set_id(id);
  return std::make_shared<const std::string>(list.SerializeAsString());
}

class PluginServerTest : public testing::Test {
 protected:
  ~PluginServerTest() override {
    server_.reset();
    (void)os::RemoveTree(dir_);
  }

  void Start(const std::string& watcher_name = "", ListBytes list = ListOf("first")) {
    auto server = PluginServer::Start(
        {.socket_path = path_, .options = {true, true}, .watcher_name = watcher_name}, handler_,
        std::move(list),
        {.stream_opened = [this] { Count(opened_); },
         .stream_ended = [this](bool by_peer) { Count(by_peer ? ended_by_peer_ : ended_by_us_); },
         .list_sent = [](size_t) {},
         .watcher_notified = [](const Status&) {}});
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    channel_ = FreshChannel(path_);
    stub_ = v1beta1::DevicePlugin::NewStub(channel_);
  }
  void Count(int& counter) {
    std::lock_guard lock(mutex_);
    ++counter;
    changed_.notify_all();
  }
  bool AwaitOne(const int& counter) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return counter == 1; });
  }

  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "plugin");
  std::string path_ = dir_ + "/p.sock";
  std::mutex mutex_;
  std::condition_variable changed_;
  int opened_ = 0;
  int ended_by_peer_ = 0;
  int ended_by_us_ = 0;
  const std::shared_ptr<FakeHandler> handler_ = std::make_shared<FakeHandler>();
  std::unique_ptr<PluginServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

TEST_F(PluginServerTest, TheSocketIsPrivateAndItsOptionsAreTold) {
  Start();
  grpc::ClientContext context;
  v1beta1::DevicePluginOptions options;

  ASSERT_TRUE(stub_->GetDevicePluginOptions(&context, {}, &options).ok());

  EXPECT_TRUE(options.pre_start_required());
  EXPECT_TRUE(options.get_preferred_allocation_available());
  EXPECT_EQ(os::Inspect(path_)->mode, 0600u);
}

TEST_F(PluginServerTest, EveryStreamGetsTheListAtOnceAndEachNewerOne) {
  Start();
  grpc::ClientContext contexts[2];
  std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>> streams[2];
  v1beta1::ListAndWatchResponse list;
  for (int i = 0; i < 2; ++i) {
    streams[i] = stub_->ListAndWatch(&contexts[i], {});
    ASSERT_TRUE(streams[i]->Read(&list));
    EXPECT_EQ(list.devices(0).id(), "first");
  }

  server_->Publish(ListOf("second"));

  for (auto& stream : streams) {
    ASSERT_TRUE(stream->Read(&list));
    EXPECT_EQ(list.devices(0).id(), "second");
  }
  EXPECT_EQ(server_->streams(), 2);
}

TEST_F(PluginServerTest, AStreamThatComesBeforeTheFirstListGetsItWhenThereIsOne) {
  Start("", nullptr);
  grpc::ClientContext context;
  auto stream = stub_->ListAndWatch(&context, {});
  ASSERT_TRUE(AwaitOne(opened_));

  server_->Publish(ListOf("first"));

  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  EXPECT_EQ(list.devices(0).id(), "first");
}

TEST_F(PluginServerTest, AReaderThatHungGetsTheNewestListAndFewOfThoseBefore) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));

  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 1'000; ++i) server_->Publish(ListOf(large + std::to_string(i)));

  int read = 0;
  do {
    ASSERT_TRUE(stream->Read(&list));
    ++read;
  } while (list.devices(0).id() != large + "999");
  EXPECT_LT(read, 100);
}

TEST_F(PluginServerTest, AReaderThatHangsDoesNotHoldUpTheEnd) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  for (int i = 0; i < 100; ++i) server_->Publish(ListOf(std::string(1'000'000, 'x')));

  server_.reset();  // the waiting reader would block the server's end for ever

  EXPECT_EQ(ended_by_us_, 1);
}

TEST_F(PluginServerTest, AStreamThatThePeerEndsIsToldSo) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));

  context.TryCancel();

  EXPECT_TRUE(AwaitOne(ended_by_peer_));
  EXPECT_EQ(server_->streams(), 0);
}

TEST_F(PluginServerTest, CloseEndsTheStreamsAndRemovesTheSocket) {
  Start();
  grpc::ClientContext context;
  auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));

  server_->Close();

  EXPECT_FALSE(stream->Read(&list));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(AwaitOne(ended_by_us_));
  EXPECT_FALSE(os::Exists(path_));
}

TEST_F(PluginServerTest, ARefusalReachesTheCallerWithCodeAndAdvice) {
  Start();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("9");
  v1beta1::AllocateResponse response;

  grpc::Status status = stub_->Allocate(&context, request, &response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), (Error{Reason::kUnknownShare, "no id 9"}).Text());
}

TEST_F(PluginServerTest, EachContainerRequestGetsItsOwnResponse) {
  Start();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("3");
  request.add_container_requests()->add_devices_ids("4");
  v1beta1::AllocateResponse response;

  ASSERT_TRUE(stub_->Allocate(&context, request, &response).ok());

  ASSERT_EQ(response.container_responses_size(), 2);
  EXPECT_EQ(response.container_responses(0).envs().at("IDS"), "3");
  EXPECT_EQ(response.container_responses(1).envs().at("IDS"), "4");
}

TEST_F(PluginServerTest, WhileAnAllocateWaitsOtherCallsAndOtherResourcesAreAnswered) {
  Start();
  const std::string other_path = dir_ + "/other.sock";
  auto other_resource = PluginServer::Start({.socket_path = other_path, .options = {true, true}},
                                            std::make_shared<FakeHandler>(), ListOf("other"),
                                            {.stream_opened = [] {},
                                             .stream_ended = [](bool) {},
                                             .list_sent = [](size_t) {},
                                             .watcher_notified = [](const Status&) {}});
  ASSERT_TRUE(other_resource);
  const auto other_stub = v1beta1::DevicePlugin::NewStub(FreshChannel(other_path));
  grpc::ClientContext contexts[4];
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("later");
  v1beta1::AllocateResponse later;
  std::promise<grpc::Status> ended;
  stub_->async()->Allocate(&contexts[0], &request, &later,
                           [&](const grpc::Status& status) { ended.set_value(status); });
  const auto answer = handler_->held_.get_future().get();

  request.mutable_container_requests(0)->set_devices_ids(0, "3");
  v1beta1::AllocateResponse other;
  ASSERT_TRUE(stub_->Allocate(&contexts[1], request, &other).ok());
  EXPECT_EQ(other.container_responses(0).envs().at("IDS"), "3");
  v1beta1::PreferredAllocationRequest preference;
  auto* container = preference.add_container_requests();
  container->add_available_deviceids("5");
  container->set_allocation_size(1);
  v1beta1::PreferredAllocationResponse preferred;
  ASSERT_TRUE(stub_->GetPreferredAllocation(&contexts[2], preference, &preferred).ok());
  EXPECT_EQ(preferred.container_responses(0).deviceids(0), "5");
  request.mutable_container_requests(0)->set_devices_ids(0, "4");
  ASSERT_TRUE(other_stub->Allocate(&contexts[3], request, &other).ok());
  EXPECT_EQ(other.container_responses(0).envs().at("IDS"), "4");

  Grant grant;
  grant.envs["IDS"] = "later";
  answer(std::move(grant));
  ASSERT_TRUE(ended.get_future().get().ok());
  EXPECT_EQ(later.container_responses(0).envs().at("IDS"), "later");
}

TEST_F(PluginServerTest, AnAllocateThatNobodyWillAnswerIsCancelled) {
  Start();
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("dropped");
  v1beta1::AllocateResponse response;

  EXPECT_EQ(stub_->Allocate(&context, request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
}

TEST_F(PluginServerTest, APreStartThatHangsDoesNotHoldUpTheEnd) {
  Start();
  grpc::ClientContext context;
  v1beta1::PreStartContainerRequest request;
  request.add_devices_ids("hang");
  v1beta1::PreStartContainerResponse response;
  std::mutex mutex;
  std::condition_variable done;
  bool ended = false;
  stub_->async()->PreStartContainer(&context, &request, &response, [&](const grpc::Status&) {
    std::lock_guard lock(mutex);
    ended = true;
    done.notify_all();
  });
  handler_->hanging_.wait();

  server_.reset();

  std::unique_lock lock(mutex);
  EXPECT_TRUE(done.wait_for(lock, std::chrono::seconds(20), [&] { return ended; }));
}

TEST_F(PluginServerTest, WhileAPreStartHangsOtherCallsAreAnswered) {
  Start();
  grpc::ClientContext hanging;
  v1beta1::PreStartContainerRequest request;
  request.add_devices_ids("hang");
  v1beta1::PreStartContainerResponse response;
  std::promise<grpc::StatusCode> hung;
  stub_->async()->PreStartContainer(&hanging, &request, &response, [&](const grpc::Status& status) {
    hung.set_value(status.error_code());
  });
  handler_->hanging_.wait();

  grpc::ClientContext context;
  v1beta1::PreStartContainerRequest other;
  other.add_devices_ids("0");
  EXPECT_TRUE(stub_->PreStartContainer(&context, other, &response).ok());
  hanging.TryCancel();

  EXPECT_EQ(hung.get_future().get(), grpc::StatusCode::CANCELLED);
}

TEST_F(PluginServerTest, APreStartLeavesNoMemoryBehind) {
  Start();
  v1beta1::PreStartContainerRequest request;
  request.add_devices_ids("0");
  auto call_often = [&](int times) {
    for (int i = 0; i < times; ++i) {
      grpc::ClientContext context;
      v1beta1::PreStartContainerResponse response;
      ASSERT_TRUE(stub_->PreStartContainer(&context, request, &response).ok());
    }
  };
  call_often(100);

  const size_t before = mallinfo2().uordblks;
  call_often(2'000);

  EXPECT_LT(mallinfo2().uordblks, before + 200'000) << "100 bytes a call";
}

TEST_F(PluginServerTest, APathThatIsTakenIsRefused) {
  auto taken = os::ListenUnix(path_);

  auto server = PluginServer::Start({.socket_path = path_, .options = {}, .watcher_name = ""},
                                    std::make_shared<FakeHandler>(), ListOf("x"), {});

  ASSERT_FALSE(server);
  EXPECT_EQ(server.error(), (Error{Reason::kSocketInUse, path_ + " has a live listener"}));
}

TEST_F(PluginServerTest, TheWatcherIsToldWhoWeAre) {
  Start("dummy.com/npu");
  grpc::ClientContext context;
  pluginregistration::PluginInfo info;

  ASSERT_TRUE(
      pluginregistration::Registration::NewStub(channel_)->GetInfo(&context, {}, &info).ok());

  EXPECT_EQ(info.type(), "DevicePlugin");
  EXPECT_EQ(info.name(), "dummy.com/npu");
  EXPECT_EQ(info.endpoint(), "");
  ASSERT_EQ(info.supported_versions_size(), 1);
  EXPECT_EQ(info.supported_versions(0), "v1beta1");
}

}  // namespace
}  // namespace tessera::kubelet
