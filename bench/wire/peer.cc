// SPDX-License-Identifier: Apache-2.0
#include "bench/wire/peer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unordered_map>

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

// The other build of the agent, in place of the bare server; null: none.
std::string Before() {
  const char* path =
      std::getenv("TESSERA_BENCH_BEFORE");  // NOLINT(concurrency-mt-unsafe): read only
  return path == nullptr ? "" : path;
}

// The name of a thread of the process; by default of its first one.
std::string NameOf(int pid, const std::string& task = {}) {
  const std::string thread = task.empty() ? std::to_string(pid) : task;
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/task/{}/comm", pid, thread)), name);
  return name;
}

v1beta1::ListAndWatchResponse Decoded(grpc::ByteBuffer bytes) {
  v1beta1::ListAndWatchResponse list;
  if (!grpc::SerializationTraits<v1beta1::ListAndWatchResponse>::Deserialize(&bytes, &list).ok()) {
    Die("a list that is none");
  }
  return list;
}

// The number after `key` in a file of lines; 0: not found.
double NumberIn(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size()));
  }
  return 0;
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
  devices->set_resource_name(served_.resource);
  for (const std::string& id : served_.ids) devices->add_device_ids(id);
  return grpc::Status::OK;
}

Kubelet::Kubelet(std::string dir, const Served& served)
    : directory(std::move(dir)), pod_resources_(served) {
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

Connection::Connection(const std::string& socket, const Served& served)
    : served_(served),
      channel_(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials())),
      stub_(v1beta1::DevicePlugin::NewStub(channel_)) {
  using grpc::internal::RpcMethod;
  reader_.reset(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
      channel_.get(),
      RpcMethod("/v1beta1.DevicePlugin/ListAndWatch", RpcMethod::SERVER_STREAMING, channel_),
      &context_, v1beta1::Empty()));
}

Connection::~Connection() {
  context_.TryCancel();
  (void)reader_->Finish();
}

std::optional<grpc::ByteBuffer> Connection::Read() {
  grpc::ByteBuffer list;
  if (!reader_->Read(&list)) return std::nullopt;
  return list;
}

void Connection::Allocate(int id) {
  const std::string& share = served_.ids[static_cast<size_t>(id)];
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(share);
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  grpc::Status status = stub_->Allocate(&context, request, &response);
  if (!status.ok()) Die("Allocate: " + status.error_message());
  // The share itself, or its device.
  const std::string& granted = response.container_responses(0).envs().at(served_.variable);
  if (!share.starts_with(granted) || granted.empty()) Die("a wrong grant");
}

v1beta1::ContainerAllocateResponse Connection::Ask(const std::vector<std::string>& ids) {
  v1beta1::AllocateRequest request;
  auto* container = request.add_container_requests();
  for (const std::string& id : ids) container->add_devices_ids(id);
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->Allocate(&context, request, &response);
  if (!status.ok()) Die("Allocate: " + status.error_message());
  return response.container_responses(0);
}

void Connection::PreStart(const std::vector<std::string>& ids) {
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : ids) request.add_devices_ids(id);
  v1beta1::PreStartContainerResponse response;
  grpc::ClientContext context;
  const grpc::Status status = stub_->PreStartContainer(&context, request, &response);
  if (!status.ok()) Die("PreStartContainer: " + status.error_message());
}

std::vector<std::string> Connection::Prefer(const std::vector<std::string>& available, int size) {
  v1beta1::PreferredAllocationRequest request;
  auto* container = request.add_container_requests();
  for (const std::string& id : available) container->add_available_deviceids(id);
  container->set_allocation_size(size);
  v1beta1::PreferredAllocationResponse response;
  grpc::ClientContext context;
  grpc::Status status = stub_->GetPreferredAllocation(&context, request, &response);
  if (!status.ok()) Die("GetPreferredAllocation: " + status.error_message());
  const auto& ids = response.container_responses(0).deviceids();
  if (ids.size() != size) Die("as many as were not asked for");
  return {ids.begin(), ids.end()};
}

MakeServed Npus(int count, std::string settings) {
  return [count, settings = std::move(settings)](const std::string& directory) {
    const std::string file = directory + "/npu-faults/faults.json";
    if (!os::MakeDirectories(directory + "/npu-faults")) Die("cannot make a directory for faults");
    Served served{.resource = "dummy.com/npu",
                  .variable = "DUMMY_VISIBLE_DEVICES",
                  .section = fmt::format("dummy: {{count: {}, faultFile: {}}}", count, file),
                  .settings = settings,
                  .fault_file = file,
                  .fault = [](int device) {
                    return fmt::format(
                        R"({{"version":1,"devices":{{"{}":{{"fail":"for the benchmark"}}}}}})",
                        device);
                  }};
    for (int i = 0; i < count; ++i) served.ids.push_back(std::to_string(i));
    return served;
  };
}

Subject::Subject(Kind kind, const MakeServed& make)
    : program_(kind == Kind::kTessera ? TESSERA_BINARY : Before()),
      bare_(kind == Kind::kBare && program_.empty()) {
  // In memory, so that no disk's time counts.
  auto made = os::MakeTemporaryDirectory("/dev/shm/tessera-bench-");
  if (!made) Die(made.error().message);
  directory_ = *made;
  served_ = make(directory_);
  faults_ = directory_ + "/changes";
  if (!os::MakeDirectories(faults_)) Die("cannot make " + faults_);
  kubelet_ = std::make_unique<Kubelet>(directory_ + "/kubelet", served_);
  kubelet_->Listen();
  std::string ids;
  for (size_t i = 0; i < served_.ids.size(); ++i) {
    ids += served_.ids[i];
    if (!served_.numa.empty()) {
      ids += fmt::format(" {}", served_.numa[i / static_cast<size_t>(served_.shares)]);
    }
    ids += "\n";
  }
  Write(directory_ + "/ids", ids);
  Write(directory_ + "/tessera.yaml",
        fmt::format("version: tessera/v1\nkubelet: {{root: {0}/kubelet}}\nstate: {{dir: {0}}}\n"
                    "control: {{socket: {0}/agent.sock}}\nhttp: {{address: \"off\"}}\n{1}"
                    "resources:\n  - {{name: {2}, {3}}}\n",
                    directory_, served_.settings, served_.resource, served_.section));
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
  connection_ = std::make_unique<Connection>(endpoint, served_);
}

Clock::time_point Subject::Connect() {
  Open();
  // The first list may lack devices, as a scan of many takes longer than the agent waits for it.
  while (true) {
    grpc::ByteBuffer bytes = Read();
    const auto arrived = Clock::now();
    const auto list = Decoded(bytes);
    if (list.devices_size() == static_cast<int>(served_.ids.size()) &&
        list.devices(0).health() == "Healthy") {
      if (positions_.empty()) Locate(list);
      return arrived;
    }
  }
}

// Each program lists the devices in its own fixed order.
void Subject::Locate(const v1beta1::ListAndWatchResponse& list) {
  std::unordered_map<std::string, int> positions;
  for (int i = 0; i < list.devices_size(); ++i) positions[list.devices(i).id()] = i;
  for (size_t i = 0; i < served_.ids.size(); i += static_cast<size_t>(served_.shares)) {
    positions_.push_back(positions.at(served_.ids[i]));
  }
}

// A plugin that ends its stream registers again, as it does if it is unsure which kubelet it
// reached.
grpc::ByteBuffer Subject::Read() {
  while (true) {
    if (auto list = connection_->Read()) return *std::move(list);
    Open();
  }
}

Millis Subject::Start() {
  const std::vector<std::string> command =
      bare_ ? std::vector<std::string>{BENCH_BARE,       directory_ + "/kubelet", served_.resource,
                                       served_.variable, directory_ + "/ids",     faults_}
            : std::vector<std::string>{program_, "agent", "--config", directory_ + "/tessera.yaml"};
  const auto begin = Clock::now();
  auto process = os::Process::Start(command, directory_ + "/log");
  if (!process) Die(process.error().message);
  process_ = *std::move(process);
  return Connect() - begin;
}

Millis Subject::Fail(int device) {
  const std::string file = bare_ ? faults_ + "/change" : served_.fault_file;
  // Written outside the watched directory, so that only the rename is timed.
  const std::string next = directory_ + "/next";
  Write(next, bare_ ? fmt::format("{} {}", device * served_.shares, served_.shares)
                    : served_.fault(device));
  const int position = positions_[static_cast<size_t>(device)];
  const auto begin = Clock::now();
  std::filesystem::rename(next, file);
  while (Decoded(Read()).devices(position).health() != "Unhealthy") {
  }
  return Clock::now() - begin;
}

Millis Subject::RestartKubelet() {
  connection_.reset();
  kubelet_->Hush();
  seen_ = kubelet_->registrations();
  kubelet_->Listen();
  const auto begin = Clock::now();
  return Connect() - begin;
}

double Subject::rss_mb() const {
  return NumberIn(fmt::format("/proc/{}/status", process_.pid()), "VmRSS:") / 1024;
}

// smaps has a line with the path of each mapping, and below it a line "Rss: N kB".
double Subject::driver_mb() const {
  std::ifstream smaps(fmt::format("/proc/{}/smaps", process_.pid()));
  double kib = 0;
  bool of_driver = false;
  for (std::string line; std::getline(smaps, line);) {
    const bool is_mapping = line.find('-') < line.find(' ');
    if (is_mapping) of_driver = line.find(directory_) != std::string::npos;
    if (of_driver && line.starts_with("Rss:")) kib += std::strtod(line.c_str() + 4, nullptr);
  }
  return kib / 1024;
}

int Subject::fds() const {
  auto names = os::ListDirectory("/proc/" + std::to_string(process_.pid()) + "/fd");
  return names ? static_cast<int>(names->size()) : 0;
}

double Subject::cpu_ms() const {
  return SumOf([&](const std::string& task) { return CpuOf(task); });
}

// gRPC names its threads; ours have the program's name.
double Subject::own_cpu_ms() const {
  const std::string own = NameOf(process_.pid());
  return SumOf([&](const std::string& task) {
    return NameOf(process_.pid(), task) == own ? CpuOf(task) : 0;
  });
}

double Subject::wakeups() const {
  return SumOf([&](const std::string& task) {
    return NumberIn(fmt::format("/proc/{}/task/{}/status", process_.pid(), task),
                    "voluntary_ctxt_switches:");
  });
}

double Subject::CpuOf(const std::string& task) const {
  double run_ns = 0;
  std::ifstream(fmt::format("/proc/{}/task/{}/schedstat", process_.pid(), task)) >> run_ns;
  return run_ns / 1e6;
}

double Subject::SumOf(const std::function<double(const std::string& task)>& figure) const {
  const std::string tasks = fmt::format("/proc/{}/task", process_.pid());
  double sum = 0;
  for (const std::string& task : os::ListDirectory(tasks).value_or(std::vector<std::string>{})) {
    sum += figure(task);
  }
  return sum;
}

}  // namespace tessera::bench
