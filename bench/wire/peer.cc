// SPDX-License-Identifier: Apache-2.0
#include "bench/wire/peer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "os/files.h"

namespace tessera::bench {
namespace {

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::_Exit(1);
}

void Write(const std::string& path, const std::string& text) {
  if (!os::ReplaceFile(path, text)) Die("cannot write " + path);
}

// Of a thread of the process; of the first one by default.
std::string NameOf(int pid, const std::string& task = {}) {
  const std::string thread = task.empty() ? std::to_string(pid) : task;
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/task/{}/comm", pid, thread)), name);
  return name;
}

}  // namespace

grpc::Status PodResources::List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                                v1::ListPodResourcesResponse*) {
  return grpc::Status::OK;
}

grpc::Status PodResources::GetAllocatableResources(grpc::ServerContext*,
                                                   const v1::AllocatableResourcesRequest*,
                                                   v1::AllocatableResourcesResponse* response) {
  v1::ContainerDevices* devices = response->add_devices();
  devices->set_resource_name("dummy.com/npu");
  for (int i = 0; i < devices_; ++i) devices->add_device_ids(std::to_string(i));
  return grpc::Status::OK;
}

Kubelet::Kubelet(std::string dir, int devices)
    : directory(std::move(dir)), pod_resources_(devices) {
  for (const char* sub : {"/device-plugins", "/plugins_registry", "/pod-resources"}) {
    if (!os::MakeDirectories(directory + sub)) Die("cannot make " + directory + sub);
  }
  pod_resources_server_ = Serve("/pod-resources/kubelet.sock", pod_resources_);
}

std::unique_ptr<grpc::Server> Kubelet::Serve(const std::string& socket, grpc::Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (server == nullptr) Die("cannot listen in " + directory);
  return server;
}

void Kubelet::Listen() {
  server_ = Serve("/device-plugins/kubelet.sock", *this);
}

void Kubelet::Hush() {
  server_->Shutdown();
  server_.reset();
  (void)os::RemoveFile(directory + "/device-plugins/kubelet.sock");
}

std::string Kubelet::AwaitEndpoint(int seen) {
  std::unique_lock lock(mutex_);
  if (!arrived_.wait_for(lock, std::chrono::seconds(30), [&] { return registrations_ > seen; })) {
    Die("nobody registers in " + directory);
  }
  return directory + "/device-plugins/" + endpoint_;
}

int Kubelet::registrations() {
  std::lock_guard lock(mutex_);
  return registrations_;
}

grpc::Status Kubelet::Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                               v1beta1::Empty*) {
  std::lock_guard lock(mutex_);
  endpoint_ = request->endpoint();
  ++registrations_;
  arrived_.notify_all();
  return grpc::Status::OK;
}

Connection::Connection(const std::string& socket) {
  stub_ = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  reader_ = stub_->ListAndWatch(&context_, v1beta1::Empty());
}

Connection::~Connection() {
  context_.TryCancel();
  (void)reader_->Finish();
}

std::optional<v1beta1::ListAndWatchResponse> Connection::Read() {
  v1beta1::ListAndWatchResponse list;
  if (!reader_->Read(&list)) return std::nullopt;
  return list;
}

void Connection::Allocate(int device) {
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(std::to_string(device));
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  grpc::Status status = stub_->Allocate(&context, request, &response);
  if (!status.ok()) Die("Allocate: " + status.error_message());
  if (response.container_responses(0).envs().at("DUMMY_VISIBLE_DEVICES") !=
      std::to_string(device)) {
    Die("a wrong grant");
  }
}

Subject::Subject(Kind kind, int devices, const std::string& also) : kind_(kind), devices_(devices) {
  // In memory: what a disk costs is none of the program's doing.
  auto made = os::MakeTemporaryDirectory("/dev/shm/tessera-bench-");
  if (!made) Die(made.error().message);
  directory_ = *made;
  faults_ = directory_ + "/faults";
  if (!os::MakeDirectories(faults_)) Die("cannot make " + faults_);
  kubelet_ = std::make_unique<Kubelet>(directory_ + "/kubelet", devices_);
  kubelet_->Listen();
  Write(directory_ + "/tessera.yaml",
        fmt::format("version: tessera/v1\nkubelet: {{root: {0}/kubelet}}\nstate: {{dir: {0}}}\n"
                    "control: {{socket: {0}/agent.sock}}\nhttp: {{address: \"off\"}}\n{2}"
                    "resources:\n  - {{name: dummy.com/npu, dummy: {{count: {1}, faultFile: "
                    "{0}/faults/change.json}}}}\n",
                    directory_, devices_, also));
}

Subject::~Subject() {
  connection_.reset();
  process_ = os::Process();
  kubelet_->Hush();
  (void)os::RemoveTree(directory_);
}

void Subject::Open() {
  const std::string endpoint = kubelet_->AwaitEndpoint(seen_);
  seen_ = kubelet_->registrations();
  connection_ = std::make_unique<Connection>(endpoint);
}

void Subject::Connect() {
  Open();
  // Many devices take longer than a first list is waited for.
  v1beta1::ListAndWatchResponse list;
  while (list.devices_size() != devices_ || list.devices(0).health() != "Healthy") list = Read();
}

// One that ends its stream registers anew: whoever is not sure which kubelet it reached does so.
v1beta1::ListAndWatchResponse Subject::Read() {
  while (true) {
    if (auto list = connection_->Read()) return *std::move(list);
    Open();
  }
}

Millis Subject::Start() {
  const std::vector<std::string> command =
      kind_ == Kind::kBare ? std::vector<std::string>{BENCH_BARE, directory_ + "/kubelet",
                                                      std::to_string(devices_), faults_}
                           : std::vector<std::string>{TESSERA_BINARY, "agent", "--config",
                                                      directory_ + "/tessera.yaml"};
  const auto begin = Clock::now();
  auto process = os::Process::Start(command, directory_ + "/log");
  if (!process) Die(process.error().message);
  process_ = *std::move(process);
  Connect();
  return Clock::now() - begin;
}

Millis Subject::Fail(int device) {
  std::string text = std::to_string(device);
  if (kind_ == Kind::kTessera) {
    text =
        fmt::format(R"({{"version":1,"devices":{{"{}":{{"fail":"for the benchmark"}}}}}})", device);
  }
  Write(faults_ + "/next", text);
  const auto begin = Clock::now();
  std::filesystem::rename(faults_ + "/next", faults_ + "/change.json");
  while (Read().devices(device).health() != "Unhealthy") {
  }
  return Clock::now() - begin;
}

Millis Subject::RestartKubelet() {
  connection_.reset();
  kubelet_->Hush();
  seen_ = kubelet_->registrations();
  kubelet_->Listen();
  const auto begin = Clock::now();
  Connect();
  return Clock::now() - begin;
}

double Subject::rss_mb() const {
  std::ifstream status("/proc/" + std::to_string(process_.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

int Subject::fds() const {
  auto names = os::ListDirectory("/proc/" + std::to_string(process_.pid()) + "/fd");
  return names ? static_cast<int>(names->size()) : 0;
}

double Subject::cpu_ms() const {
  return CpuOf([](const std::string&) { return true; });
}

// gRPC names its threads, ours are called as the program.
double Subject::own_cpu_ms() const {
  const std::string own = NameOf(process_.pid());
  return CpuOf([&](const std::string& task) { return NameOf(process_.pid(), task) == own; });
}

double Subject::CpuOf(const std::function<bool(const std::string& task)>& counts) const {
  const std::string tasks = "/proc/" + std::to_string(process_.pid()) + "/task";
  double sum = 0;
  for (const std::string& task : os::ListDirectory(tasks).value_or(std::vector<std::string>{})) {
    double run_ns = 0;
    std::ifstream(tasks + "/" + task + "/schedstat") >> run_ns;
    if (counts(task)) sum += run_ns / 1e6;
  }
  return sum;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  return values[at];
}

}  // namespace tessera::bench
