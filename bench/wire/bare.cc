// SPDX-License-Identifier: Apache-2.0
// The smallest device plugin: a bare grpc++ callback server with a list of ids, registered with
// kubelet once. The baseline of wire.cc and nvidia.cc.
// usage: bench_bare KUBELET_DIR RESOURCE VARIABLE IDS_FILE CHANGES_DIR
//   IDS_FILE has an id a line, and its NUMA node if known; the answer to Allocate sets VARIABLE
//   to the ids.
//   A file with FIRST and COUNT that is renamed to CHANGES_DIR/change makes these ids Unhealthy.
#include <grpcpp/grpcpp.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "proto/deviceplugin/deviceplugin.grpc.pb.h"

namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::Status;

class Plugin;

class Watch : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  explicit Watch(Plugin& plugin);
  void OnWriteDone(bool) override;
  void OnCancel() override;
  void OnDone() override;
  void Send();

 private:
  Plugin& plugin_;
  std::mutex mutex_;
  bool writing_ = false;
  bool again_ = false;
  bool finished_ = false;
};

class Plugin : public v1beta1::DevicePlugin::CallbackService {
 public:
  Plugin(std::string variable, const std::string& ids_file) : variable_(std::move(variable)) {
    std::ifstream ids(ids_file);
    for (std::string line; std::getline(ids, line);) {
      auto* device = list.add_devices();
      const size_t space = line.find(' ');
      device->set_id(line.substr(0, space));
      device->set_health("Healthy");
      if (space != std::string::npos) {
        device->mutable_topology()->add_nodes()->set_id(std::stoi(line.substr(space)));
      }
    }
  }

  ServerUnaryReactor* GetDevicePluginOptions(CallbackServerContext* context, const v1beta1::Empty*,
                                             v1beta1::DevicePluginOptions* options) override {
    options->set_get_preferred_allocation_available(true);
    return Finish(context);
  }
  ServerUnaryReactor* Allocate(CallbackServerContext* context,
                               const v1beta1::AllocateRequest* request,
                               v1beta1::AllocateResponse* response) override {
    for (const auto& container : request->container_requests()) {
      std::string ids;
      for (const std::string& id : container.devices_ids()) ids += (ids.empty() ? "" : ",") + id;
      (*response->add_container_responses()->mutable_envs())[variable_] = ids;
    }
    return Finish(context);
  }
  ServerUnaryReactor* PreStartContainer(CallbackServerContext* context,
                                        const v1beta1::PreStartContainerRequest*,
                                        v1beta1::PreStartContainerResponse*) override {
    return Finish(context);
  }
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      CallbackServerContext*, const v1beta1::Empty*) override {
    auto* watch = new Watch(*this);
    {
      std::lock_guard lock(mutex);
      stream = watch;
    }
    watch->Send();
    return watch;
  }

  void Fail(int first, int count) {
    std::lock_guard lock(mutex);
    for (int i = first; i < first + count; ++i) list.mutable_devices(i)->set_health("Unhealthy");
    if (stream != nullptr) stream->Send();
  }

  std::mutex mutex;
  v1beta1::ListAndWatchResponse list;
  Watch* stream = nullptr;

 private:
  static ServerUnaryReactor* Finish(CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Status::OK);
    return reactor;
  }

  const std::string variable_;
};

Watch::Watch(Plugin& plugin) : plugin_(plugin) {}

void Watch::Send() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  if (writing_) {
    again_ = true;
    return;
  }
  writing_ = true;
  StartWrite(&plugin_.list);  // serialized at once
}

void Watch::OnWriteDone(bool) {
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!again_) return;
    again_ = false;
  }
  Send();
}

void Watch::OnCancel() {
  std::lock_guard lock(mutex_);
  finished_ = true;
  Finish(Status::CANCELLED);
}

void Watch::OnDone() {
  {
    std::lock_guard lock(plugin_.mutex);
    if (plugin_.stream == this) plugin_.stream = nullptr;
  }
  delete this;
}

void FollowChanges(Plugin& plugin, const std::string& directory) {
  const int fd = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(fd, directory.c_str(), IN_MOVED_TO);
  char buffer[4096];
  while (read(fd, buffer, sizeof buffer) > 0) {
    int first = 0;
    int count = 0;
    if (std::ifstream(directory + "/change") >> first >> count) plugin.Fail(first, count);
  }
}

bool Register(const std::string& plugins, const std::string& endpoint,
              const std::string& resource) {
  auto stub = v1beta1::Registration::NewStub(
      grpc::CreateChannel("unix:" + plugins + "/kubelet.sock", grpc::InsecureChannelCredentials()));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  grpc::ClientContext context;
  v1beta1::Empty empty;
  return stub->Register(&context, request, &empty).ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string plugins = std::string(argv[1]) + "/device-plugins";
  const std::string endpoint = "bare-" + std::to_string(getpid()) + ".sock";
  Plugin plugin(argv[3], argv[4]);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + plugins + "/" + endpoint, grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin);
  auto server = builder.BuildAndStart();
  if (server == nullptr || !Register(plugins, endpoint, argv[2])) return 1;
  std::thread(FollowChanges, std::ref(plugin), std::string(argv[5])).detach();
  server->Wait();
  return 0;
}
