// SPDX-License-Identifier: Apache-2.0
// For tests: a device plugin with settable answers, and a node to run it on. Header-only, so that
// the product has none of it. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/files.h"
#include "proto/deviceplugin/deviceplugin.grpc.pb.h"
#include "proto/pluginregistration/pluginregistration.grpc.pb.h"
#include "sim/kubelet/embedded.h"

namespace tessera::kubelet::embedded {

inline constexpr Duration kTestLimit{20'000};  // for expected conditions; only a failure reaches it
inline constexpr char kNpu[] = "dummy.com/npu";

using FakeDevice = std::pair<std::string, std::string>;  // id, health

inline std::vector<FakeDevice> HealthyDevices(int count) {
  std::vector<FakeDevice> devices;
  for (int i = 0; i < count; ++i) devices.emplace_back(std::to_string(i), "Healthy");
  return devices;
}

class FakePlugin {
 public:
  // The plugin's answers; set before Serve.
  struct Behaviour {
    bool pre_start = false;
    bool prefer = false;
    grpc::Status options_status = {};
    // Allocate's answer to these ids; the default lists them in FAKE_IDS, sorted.
    std::function<grpc::Status(const std::vector<std::string>&, v1beta1::AllocateResponse&)>
        allocate = {};
    std::function<grpc::Status(const v1beta1::ContainerPreferredAllocationRequest&,
                               v1beta1::PreferredAllocationResponse&)>
        prefer_answer = {};
    std::function<grpc::Status(const std::vector<std::string>&)> pre_start_answer = {};
    // For plugins_registry.
    std::string type = "DevicePlugin";
    std::vector<std::string> versions = {"v1beta1"};
    std::string endpoint = {};
    std::string resource = kNpu;
    grpc::Status notify_status = {};
  };

  FakePlugin() : FakePlugin(Behaviour()) {}
  explicit FakePlugin(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}
  ~FakePlugin() { Shutdown(); }

  void Serve(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(&plugin_);
    builder.RegisterService(&registration_);
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_) << path;
  }

  // Ends at once, as a killed plugin does, except that gRPC removes the socket.
  void Shutdown() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

  // Sends the list to every stream, open or later.
  void SetDevices(std::vector<FakeDevice> devices) {
    std::lock_guard lock(mutex_);
    list_.clear_devices();
    for (const auto& [id, health] : devices) {
      v1beta1::Device* device = list_.add_devices();
      device->set_id(id);
      device->set_health(health);
    }
    ++generation_;
    for (Stream* stream : streams_) stream->SendLocked();
  }
  void SetList(v1beta1::ListAndWatchResponse list) {
    std::lock_guard lock(mutex_);
    list_ = std::move(list);
    ++generation_;
    for (Stream* stream : streams_) stream->SendLocked();
  }
  // Returns from every ListAndWatch.
  void EndStreams() {
    std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->FinishLocked(grpc::Status::OK);
  }

  // Answers hanging calls of Allocate, which kubelet has given up.
  void FinishHanging() {
    std::lock_guard lock(mutex_);
    for (auto* reactor : hung_) reactor->Finish(grpc::Status::CANCELLED);
    hung_.clear();
  }

  // Waits for a condition on the record below. The condition may read the members directly.
  template <class Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestLimit, [&] { return condition(*this); });
  }
  template <class T>
  T Read(T FakePlugin::* member) {
    std::lock_guard lock(mutex_);
    return this->*member;
  }

  // ---- the record, under mutex_
  int options_calls = 0;
  Duration options_deadline{0};  // the time left in the last GetDevicePluginOptions; 0: none
  int list_calls = 0;
  int open_streams = 0;
  std::vector<std::vector<std::string>> allocated;  // the ids of each call, sorted
  std::vector<v1beta1::ContainerPreferredAllocationRequest> preferred;
  std::vector<std::vector<std::string>> pre_started;  // sorted
  std::vector<std::string> notified;                  // "true" or the error

 private:
  template <class Ids>
  static std::vector<std::string> Sorted(const Ids& ids) {
    std::vector<std::string> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  class Stream : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
   public:
    explicit Stream(FakePlugin& plugin) : plugin_(plugin) {}
    void SendLocked() {
      if (writing_ || finished_ || sent_ == plugin_.generation_) return;
      writing_ = true;
      sent_ = plugin_.generation_;
      message_ = plugin_.list_;
      StartWrite(&message_);
    }
    void FinishLocked(const grpc::Status& status) {
      if (!finished_) Finish(status);
      finished_ = true;
    }
    void OnWriteDone(bool ok) override {
      std::lock_guard lock(plugin_.mutex_);
      writing_ = false;
      if (ok) {
        SendLocked();
      } else {
        FinishLocked(grpc::Status::CANCELLED);
      }
    }
    void OnCancel() override {
      std::lock_guard lock(plugin_.mutex_);
      FinishLocked(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      {
        std::lock_guard lock(plugin_.mutex_);
        plugin_.streams_.erase(this);
        --plugin_.open_streams;
        plugin_.changed_.notify_all();
      }
      delete this;
    }

   private:
    FakePlugin& plugin_;
    v1beta1::ListAndWatchResponse message_;
    int sent_ = 0;
    bool writing_ = false;
    bool finished_ = false;
  };

  class PluginService : public v1beta1::DevicePlugin::CallbackService {
   public:
    explicit PluginService(FakePlugin& plugin) : plugin_(plugin) {}

    grpc::ServerUnaryReactor* GetDevicePluginOptions(
        grpc::CallbackServerContext* context, const v1beta1::Empty*,
        v1beta1::DevicePluginOptions* options) override {
      std::lock_guard lock(plugin_.mutex_);
      ++plugin_.options_calls;
      auto deadline = context->deadline();
      plugin_.options_deadline =
          deadline == std::chrono::system_clock::time_point::max()
              ? Duration(0)
              : std::chrono::duration_cast<Duration>(deadline - std::chrono::system_clock::now());
      options->set_pre_start_required(plugin_.behaviour_.pre_start);
      options->set_get_preferred_allocation_available(plugin_.behaviour_.prefer);
      plugin_.changed_.notify_all();
      return End(context, plugin_.behaviour_.options_status);
    }

    grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
        grpc::CallbackServerContext*, const v1beta1::Empty*) override {
      std::lock_guard lock(plugin_.mutex_);
      ++plugin_.list_calls;
      ++plugin_.open_streams;
      auto* stream = new Stream(plugin_);
      plugin_.streams_.insert(stream);
      stream->SendLocked();
      plugin_.changed_.notify_all();
      return stream;
    }

    grpc::ServerUnaryReactor* GetPreferredAllocation(
        grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
        v1beta1::PreferredAllocationResponse* response) override {
      EXPECT_EQ(request->container_requests_size(), 1);
      {
        std::lock_guard lock(plugin_.mutex_);
        plugin_.preferred.push_back(request->container_requests(0));
      }
      if (!plugin_.behaviour_.prefer_answer) {
        return End(context, {grpc::StatusCode::UNIMPLEMENTED, "not implemented"});
      }
      return End(context,
                 plugin_.behaviour_.prefer_answer(request->container_requests(0), *response));
    }

    grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                       const v1beta1::AllocateRequest* request,
                                       v1beta1::AllocateResponse* response) override {
      EXPECT_EQ(request->container_requests_size(), 1);
      auto ids = Sorted(request->container_requests(0).devices_ids());
      {
        std::lock_guard lock(plugin_.mutex_);
        plugin_.allocated.push_back(ids);
        plugin_.changed_.notify_all();
        if (plugin_.hanging) {
          plugin_.hung_.push_back(context->DefaultReactor());
          return plugin_.hung_.back();
        }
      }
      if (plugin_.behaviour_.allocate) {
        return End(context, plugin_.behaviour_.allocate(ids, *response));
      }
      std::string joined;
      for (const std::string& id : ids) joined += (joined.empty() ? "" : ",") + id;
      (*response->add_container_responses()->mutable_envs())["FAKE_IDS"] = joined;
      return End(context, grpc::Status::OK);
    }

    grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                                const v1beta1::PreStartContainerRequest* request,
                                                v1beta1::PreStartContainerResponse*) override {
      auto ids = Sorted(request->devices_ids());
      {
        std::lock_guard lock(plugin_.mutex_);
        plugin_.pre_started.push_back(ids);
      }
      const auto& answer = plugin_.behaviour_.pre_start_answer;
      return End(context, answer ? answer(ids) : grpc::Status::OK);
    }

   private:
    static grpc::ServerUnaryReactor* End(grpc::CallbackServerContext* context,
                                         const grpc::Status& status) {
      auto* reactor = context->DefaultReactor();
      reactor->Finish(status);
      return reactor;
    }
    FakePlugin& plugin_;
  };

  class RegistrationService : public pluginregistration::Registration::CallbackService {
   public:
    explicit RegistrationService(FakePlugin& plugin) : plugin_(plugin) {}
    grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                      const pluginregistration::InfoRequest*,
                                      pluginregistration::PluginInfo* info) override {
      const Behaviour& behaviour = plugin_.behaviour_;
      info->set_type(behaviour.type);
      info->set_name(behaviour.resource);
      info->set_endpoint(behaviour.endpoint);
      for (const std::string& version : behaviour.versions) info->add_supported_versions(version);
      auto* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
    grpc::ServerUnaryReactor* NotifyRegistrationStatus(
        grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* status,
        pluginregistration::RegistrationStatusResponse*) override {
      {
        std::lock_guard lock(plugin_.mutex_);
        plugin_.notified.push_back(status->plugin_registered() ? "true" : status->error());
        plugin_.changed_.notify_all();
      }
      auto* reactor = context->DefaultReactor();
      reactor->Finish(plugin_.behaviour_.notify_status);
      return reactor;
    }

   private:
    FakePlugin& plugin_;
  };

 public:
  bool hanging = false;  // Allocate does not answer; set before Serve

 private:
  Behaviour behaviour_;
  std::mutex mutex_;
  std::condition_variable changed_;
  v1beta1::ListAndWatchResponse list_;
  int generation_ = 0;
  std::set<Stream*> streams_;
  std::vector<grpc::ServerUnaryReactor*> hung_;
  PluginService plugin_{*this};
  RegistrationService registration_{*this};
  std::unique_ptr<grpc::Server> server_;
};

// A temporary node with an embedded kubelet.
class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = os::MakeTemporaryDirectory(testing::TempDir() + "kubelet-");
    ASSERT_TRUE(made) << made.error().message;
    options.root = *made;
    options.speed = 50;
  }
  void TearDown() override {
    kubelet.reset();
    (void)os::RemoveTree(options.root);
  }

  void Start() {
    auto started = EmbeddedKubelet::Start(options);
    ASSERT_TRUE(started) << started.error().message;
    kubelet = *std::move(started);
  }
  void Restart() {
    kubelet.reset();
    Start();
  }
  std::string PluginPath(const std::string& name) {
    return options.root + "/device-plugins/" + name;
  }

  grpc::Status Register(const std::string& endpoint, const std::string& resource = kNpu,
                        const std::string& version = "v1beta1", Duration limit = kTestLimit) {
    v1beta1::RegisterRequest request;
    request.set_version(version);
    request.set_endpoint(endpoint);
    request.set_resource_name(resource);
    // kubelet ignores this.
    request.mutable_options()->set_pre_start_required(true);
    request.mutable_options()->set_get_preferred_allocation_available(true);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto channel = grpc::CreateCustomChannel("unix:" + PluginPath("kubelet.sock"),
                                             grpc::InsecureChannelCredentials(), arguments);
    v1beta1::Empty response;
    return v1beta1::Registration::NewStub(channel)->Register(&context, request, &response);
  }

  // Serves and registers a plugin with `devices` healthy devices, and waits until they count.
  void Bring(FakePlugin& plugin, const std::string& name, int devices) {
    plugin.SetDevices(HealthyDevices(devices));
    plugin.Serve(PluginPath(name));
    grpc::Status registered = Register(name);
    ASSERT_TRUE(registered.ok()) << registered.error_message();
    ASSERT_TRUE(AwaitCounts(devices, devices));
  }

  ResourceStatus Npu() {
    for (ResourceStatus& status : resources(kubelet->Resources())) return status;
    return {};
  }
  bool AwaitCounts(int capacity, int allocatable) {
    return kubelet->WaitUntil(
        [&](const std::vector<ResourceStatus>& all) {
          for (const ResourceStatus& status : resources(all)) {
            return status.capacity == capacity && status.allocatable == allocatable;
          }
          return false;
        },
        kTestLimit);
  }
  bool AwaitConnected(bool connected) {
    return kubelet->WaitUntil(
        [&](const std::vector<ResourceStatus>& all) {
          for (const ResourceStatus& status : resources(all)) return status.connected == connected;
          return false;
        },
        kTestLimit);
  }

  // Records events from here on, for AwaitEvent.
  void Record() {
    kubelet->SetListener([this](const KubeletEvent& event) {
      std::lock_guard lock(events_mutex_);
      events_.push_back(event.text);
      events_changed_.notify_all();
    });
  }
  // Waits for an event whose text starts with `beginning`.
  bool AwaitEvent(const std::string& beginning) {
    std::unique_lock lock(events_mutex_);
    return events_changed_.wait_for(lock, kTestLimit, [&] {
      return std::any_of(events_.begin(), events_.end(),
                         [&](const std::string& text) { return text.starts_with(beginning); });
    });
  }

  static PodSpec OneContainer(const std::string& name, int count) {
    return {"default", name, "", {{"app", ContainerSpec::Kind::kApp, {{kNpu, count}}}}};
  }

  EmbeddedOptions options;

 private:
  std::mutex events_mutex_;
  std::condition_variable events_changed_;
  std::vector<std::string> events_;

 protected:
  std::unique_ptr<EmbeddedKubelet> kubelet;

 private:
  static std::vector<ResourceStatus> resources(const std::vector<ResourceStatus>& all) {
    std::vector<ResourceStatus> npu;
    for (const ResourceStatus& status : all) {
      if (status.name == kNpu) npu.push_back(status);
    }
    return npu;
  }
};

}  // namespace tessera::kubelet::embedded
