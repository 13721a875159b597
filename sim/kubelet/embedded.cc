// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/embedded.h"

#include <thread>

#include "base/log.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"
#include "sim/kubelet/admission.h"
#include "sim/kubelet/core.h"
#include "sim/kubelet/plugin_connections.h"
#include "sim/kubelet/plugin_watcher.h"
#include "sim/kubelet/pod_resources_service.h"
#include "sim/kubelet/registration_service.h"
#include "sim/kubelet/socket_server.h"

namespace tessera::kubelet {
namespace {

using embedded::Core;
using embedded::Pod;
using embedded::PodName;

constexpr std::string_view kSocket = "kubelet.sock";

// Removes every socket directly in device-plugins. Sub-directories and other files stay.
Status RemoveSockets(const std::string& directory, std::string_view except) {
  for (const std::string& name : TRY(os::ListDirectory(directory))) {
    std::string path = directory + "/" + name;
    auto info = os::Inspect(path);
    if (!info || info->type != os::FileInfo::Type::kSocket || name == except) continue;
    TRY(os::RemoveFile(path));
  }
  return {};
}

// A file that cannot be read counts as missing, as in kubelet.
void ReadAccounting(Core& core) TESSERA_REQUIRES(core.mutex) {
  std::string path = core.directories.device_plugins() + "/" + kCheckpointFile;
  if (auto text = os::ReadFile(path)) {
    auto checkpoint = ParseCheckpoint(*text);
    if (checkpoint) {
      core.devices.Restore(*checkpoint, SystemClock().Now());
    } else {
      log::Warn("checkpoint ignored", checkpoint.error(), {{"path", path}});
    }
  }
  if (auto text = os::ReadFile(core.pods_file())) {
    auto pods = embedded::Pods::Parse(*text);
    if (pods) {
      core.pods = *std::move(pods);
    } else {
      log::Warn("pods ignored", pods.error(), {{"path", core.pods_file()}});
    }
  }
  core.CollectGarbage();
}

}  // namespace

struct EmbeddedKubelet::Impl {
  explicit Impl(const EmbeddedOptions& options) : core(options) {}

  Status Start();
  void End(bool abruptly);
  std::vector<ResourceStatus> Resources() TESSERA_REQUIRES(core.mutex);

  Core core;
  embedded::PluginConnections connections{core};
  embedded::PluginWatcher watcher{core, connections};
  embedded::PodAdmission admission{core};
  std::unique_ptr<embedded::SocketServer> registration;
  std::unique_ptr<embedded::SocketServer> pod_resources;
  std::thread thread;  // runs the loop
  Mutex end_mutex;
  bool ended TESSERA_GUARDED_BY(end_mutex) = false;
};

Status EmbeddedKubelet::Impl::Start() {
  const auto& at = core.directories;
  for (const std::string& directory : {at.device_plugins(), at.registry(), at.pod_resources()}) {
    TRY(os::MakeDirectories(directory, 0750));
  }
  {
    const MutexLock lock(core.mutex);
    ReadAccounting(core);
  }
  TRY(RemoveSockets(at.device_plugins(), ""));
  core.SetListener(core.options.listener);
  core.Emit(KubeletEvent::Kind::kStarted, "", "kubelet started");
  admission.ReadmitUnstarted();
  registration = TRY(embedded::SocketServer::Start(
      at.kubelet_socket(), embedded::MakeRegistrationService(core, connections)));
  pod_resources = TRY(embedded::SocketServer::Start(at.pod_resources_socket(),
                                                    embedded::MakePodResourcesService(core)));
  watcher.Start();
  connections.WatchGrace();
  thread = std::thread([this] { core.loop.Run(); });
  return {};
}

void EmbeddedKubelet::Impl::End(bool abruptly) {
  const MutexLock lock(end_mutex);
  if (ended) return;
  ended = true;
  core.stopping.Cancel();
  if (abruptly) connections.CloseAll(true);  // before any polite message is sent
  core.loop.Stop();
  if (thread.joinable()) thread.join();
  watcher.Stop();
  if (registration) registration->Close(abruptly);
  if (pod_resources) pod_resources->Close(abruptly);
  // Calls in flight end with their connections; then no thread uses the core.
  connections.CloseAll(abruptly);
  core.outstanding.WaitForNone();
  core.Emit(KubeletEvent::Kind::kStopped, "", abruptly ? "kubelet was killed" : "kubelet stopped");
  core.DeliverEvents();
  const MutexLock accounting(core.mutex);
  core.Changed();
}

std::vector<ResourceStatus> EmbeddedKubelet::Impl::Resources() {
  // An init container's devices pass to an app container, which then counts as the holder.
  std::map<std::pair<std::string, std::string>, std::pair<const Pod*, std::string>> holders;
  for (const auto& [name, pod] : core.pods.all()) {
    for (bool init : {true, false}) {
      for (const auto* entry : core.devices.pod_devices().Of(pod.spec.uid)) {
        const ContainerSpec* spec = pod.Find(entry->container);
        if (spec == nullptr || (spec->kind == ContainerSpec::Kind::kInit) != init) continue;
        for (const std::string& id : entry->ids()) {
          holders[{entry->resource, id}] = {&pod, entry->container};
        }
      }
    }
  }
  std::vector<ResourceStatus> resources = core.devices.Resources();
  for (ResourceStatus& resource : resources) {
    for (DeviceStatus& device : resource.devices) {
      auto holder = holders.find({resource.name, device.id});
      if (holder == holders.end()) continue;
      device.pod_namespace = holder->second.first->spec.pod_namespace;
      device.pod = holder->second.first->spec.name;
      device.container = holder->second.second;
    }
  }
  return resources;
}

Result<std::unique_ptr<EmbeddedKubelet>> EmbeddedKubelet::Start(const EmbeddedOptions& options) {
  auto impl = std::make_shared<Impl>(options);
  std::unique_ptr<EmbeddedKubelet> kubelet(new EmbeddedKubelet(impl));
  TRY_IN(impl->Start(), "the embedded kubelet cannot start");
  return kubelet;
}

EmbeddedKubelet::EmbeddedKubelet(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
EmbeddedKubelet::~EmbeddedKubelet() {
  Stop();
}

void EmbeddedKubelet::Stop() {
  impl_->End(false);
}
void EmbeddedKubelet::Kill() {
  impl_->End(true);
}

Admission EmbeddedKubelet::RunPod(const PodSpec& pod) {
  auto running = impl_->core.outstanding.Begin();
  return impl_->admission.Run(pod);
}

Status EmbeddedKubelet::EndPod(const std::string& pod_namespace, const std::string& name) {
  return impl_->admission.End({pod_namespace, name});
}

Status EmbeddedKubelet::RestartContainer(const std::string& pod_namespace, const std::string& name,
                                         const std::string& container) {
  auto running = impl_->core.outstanding.Begin();
  return impl_->admission.Restart({pod_namespace, name}, container);
}

std::vector<ResourceStatus> EmbeddedKubelet::Resources() const {
  const MutexLock lock(impl_->core.mutex);
  return impl_->Resources();
}

std::vector<ContainerGrant> EmbeddedKubelet::GrantsOf(const std::string& pod_namespace,
                                                      const std::string& name) const {
  const MutexLock lock(impl_->core.mutex);
  const Pod* pod = impl_->core.pods.Find(PodName{pod_namespace, name});
  if (pod == nullptr) return {};
  return embedded::PodAdmission::GrantsOf(impl_->core, pod->spec);
}

std::vector<std::string> EmbeddedKubelet::Pods() const {
  const MutexLock lock(impl_->core.mutex);
  std::vector<std::string> names;
  for (const auto& [name, pod] : impl_->core.pods.all()) {
    names.push_back(name.first + "/" + name.second);
  }
  return names;
}

bool EmbeddedKubelet::WaitUntil(
    const std::function<bool(const std::vector<ResourceStatus>&)>& condition,
    Duration timeout) const {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  Impl& impl = *impl_;
  MutexLock lock(impl.core.mutex);
  for (;;) {
    const uint64_t seen = impl.core.version;
    std::vector<ResourceStatus> resources = impl.Resources();
    lock.unlock();
    if (condition(resources)) return true;
    lock.lock();
    const auto is_newer = [&]() TESSERA_REQUIRES(impl.core.mutex) {
      return impl.core.version != seen;
    };
    if (!impl.core.changed.wait_until(lock, deadline, is_newer)) return false;
  }
}

void EmbeddedKubelet::SetListener(std::function<void(const KubeletEvent&)> listener) {
  impl_->core.SetListener(std::move(listener));
}

void EmbeddedKubelet::AcceptRegisterButNeverStream(bool on) {
  impl_->core.silent = on;
}

void EmbeddedKubelet::HangInRegister(bool on) {
  impl_->core.stuck = on;
}

Status EmbeddedKubelet::HangInStream(const std::string& resource, bool on) {
  if (impl_->connections.HangInStream(resource, on)) return {};
  return Fail(Reason::kNotFound, "no plugin is connected for {}", resource);
}

void EmbeddedKubelet::SpeakVersion(const std::string& version) {
  const MutexLock lock(impl_->core.mutex);
  impl_->core.api_version = version;
}

void EmbeddedKubelet::ShapeCheckpointAnew(bool on) {
  const MutexLock lock(impl_->core.mutex);
  impl_->core.new_shape = on;
  impl_->core.SaveCheckpoint();
}

Status EmbeddedKubelet::DropStream(const std::string& resource) {
  if (impl_->connections.Drop(resource)) return {};
  return Fail(Reason::kNotFound, "no plugin is connected for {}", resource);
}

Status EmbeddedKubelet::WipeSocketDirectory() {
  return RemoveSockets(impl_->core.directories.device_plugins(), kSocket);
}

}  // namespace tessera::kubelet
