// SPDX-License-Identifier: Apache-2.0
// What kubelet feels of a node whose GPUs are divided into virtual ones, of equal sizes and of
// those that pods ask for: the shipped binary with the fake driver's library and an API server of
// the benchmark's own, beside a bare grpc++ callback server with the same messages. Prints a table.
// usage: bench_vgpu [equal | requested | memory]...
#include <fmt/core.h>

#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "api/server.h"
#include "bench/wire/table.h"
#include "kubelet/checkpoint.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;

constexpr int kPerGpu = 40;
constexpr size_t kPods = 120;    // as many as kubelet takes
constexpr size_t kAtOnce = 100;  // all of which kubelet has admitted before the first begins
constexpr size_t kKnown = kPods + kAtOnce;
constexpr size_t kBursts = 3;
constexpr size_t kWatched = 500;  // pods of a large node
constexpr std::chrono::seconds kUntilRest{20};

// A pod as an API server has it, placed by HAMi's scheduler.
std::string PodText(size_t number, const std::string& gpu) {
  return fmt::format(
      R"({{"metadata":{{"name":"train-{0}","namespace":"team","uid":"uid-{0}","resourceVersion":"1",)"
      R"("managedFields":[{{"manager":"kubectl","fieldsV1":{{"f:metadata":"{2}"}}}}],)"
      R"("annotations":{{"hami.io/vgpu-node":"worker-1","hami.io/vgpu-time":"1795000000",)"
      R"("hami.io/vgpu-devices-allocated":"{1},NVIDIA,1000,2:;"}}}},"spec":{{"nodeName":"worker-1",)"
      R"("containers":[{{"name":"main","image":"{2}","resources":{{"limits":)"
      R"({{"nvidia.com/gpu":"1","nvidia.com/gpumem":"1000","nvidia.com/gpucores":"2"}}}}}}]}},)"
      R"("status":{{"phase":"Running","conditions":[{{"message":"{2}"}}]}}}})",
      number, gpu, std::string(1'500, 'x'));
}

// An API server with so many pods, which takes whatever it is told. A thread of its own.
class PodServer {
 public:
  explicit PodServer(size_t pods) : thread_([this] { loop_.Run(); }) {
    NvidiaNode node(directory_, "8xa100");
    for (size_t i = 0; i < pods; ++i) {
      list_ += (i == 0 ? "" : ",") + PodText(i, node.hardware().gpus[i % 8].uuid);
    }
    list_ = R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[)" + list_ + "]}";
  }
  ~PodServer() {
    loop_.Stop();
    (void)os::RemoveTree(directory_);
  }

  std::string Settings(const std::string& directory) const {
    const std::string file = directory + "/kubeconfig";
    (void)os::ReplaceFile(
        file, fmt::format("current-context: c\n"
                          "contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                          "users: [{{name: u, user: {{token: secret}}}}]\n"
                          "clusters: [{{name: k, cluster: {{server: \"http://127.0.0.1:{}\"}}}}]\n",
                          server_.port()));
    return fmt::format("api: {{kubeconfig: {}, nodeName: worker-1}}\n", file);
  }

 private:
  void Serve(const fake::Asked& asked, fake::Peer& peer) const {
    const bool pods = asked.target.starts_with("/api/v1/pods");
    if (pods && asked.target.find("watch=") != std::string::npos) {
      return peer.Send(fake::ChunkedHead());
    }
    const char* node = R"({"metadata":{"name":"worker-1"},"status":{"conditions":[]}})";
    peer.Send(fake::Answer(asked.method == "POST" ? 201 : 200, pods ? list_ : node));
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-bench-").value();
  std::string list_;
  os::Loop loop_;
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Serve(asked, peer); }};
  std::jthread thread_;
};

// Eight GPUs in virtual ones, by CDI; with an API server, as pods ask for them. Nothing reads the
// library.
MakeServed VirtualGpus(const PodServer* api) {
  return [api](const std::string& directory) {
    NvidiaNode node(directory + "/node", "8xa100");
    (void)os::MakeDirectories(node.directory() + "/vgpu", 0755);
    (void)os::ReplaceFile(node.directory() + "/vgpu/libvgpu.so", "");
    Served served{
        .resource = "nvidia.com/gpu",
        .variable = "NVIDIA_VISIBLE_DEVICES",
        .shares = kPerGpu,
        .section = fmt::format("policy: vgpu, replicas: {}, strategies: [cdi-cri], cdi: {{kind: "
                               "ab.com/gpu, dir: /cdi}}, nvidia: {{vgpu: {{directory: /vgpu{}}}}}",
                               kPerGpu, api == nullptr ? "" : ", mode: requested"),
        .settings = fmt::format("rootPrefix: {}\nadvertise: {{debounce: 1ms}}\n{}",
                                node.directory(), api == nullptr ? "" : api->Settings(directory))};
    for (const nvml::HardwareGpu& gpu : node.hardware().gpus) {
      for (int share = 0; share < kPerGpu; ++share) {
        served.ids.push_back(fmt::format("{}-{}", gpu.uuid, share));
      }
    }
    return served;
  };
}

// Pods with one virtual GPU each, as kubelet admits them and makes their containers.
class VgpuPods {
 public:
  explicit VgpuPods(const PodServer* api)
      : tessera_(Kind::kTessera, VirtualGpus(api)), bare_(Kind::kBare, VirtualGpus(api)) {
    tessera_.Start();
    bare_.Start();
  }
  void Admit(size_t pod) {
    const std::string& id = tessera_.served().ids[pod];
    auto begin = Clock::now();
    const auto response = tessera_.connection().Ask({id});
    allocates_.tessera.push_back(Millis(Clock::now() - begin).count());
    begin = Clock::now();
    (void)bare_.connection().Ask({id});
    allocates_.bare.push_back(Millis(Clock::now() - begin).count());
    checkpoint_.entries.push_back({.pod_uid = fmt::format("uid-{}", pod),
                                   .container = "main",
                                   .resource = tessera_.served().resource,
                                   .ids_by_numa = {{"-1", {id}}},
                                   .allocate_response = response.SerializeAsString()});
  }
  void EndFirst() { checkpoint_.entries.erase(checkpoint_.entries.begin()); }
  void Save() const {
    (void)os::ReplaceFile(
        tessera_.directory() + "/kubelet/device-plugins/kubelet_internal_checkpoint",
        kubelet::WriteCheckpoint(checkpoint_));
  }
  double Bind(size_t pod) { return PreStart(tessera_, pod); }
  // What the bare server does, and knows, nothing for.
  double BindNothing(size_t pod) { return PreStart(bare_, pod); }
  const Samples& allocates() const { return allocates_; }

 private:
  static double PreStart(Subject& subject, size_t pod) {
    const auto begin = Clock::now();
    subject.connection().PreStart({subject.served().ids[pod]});
    return Millis(Clock::now() - begin).count();
  }

  Subject tessera_;
  Subject bare_;
  kubelet::Checkpoint checkpoint_;
  Samples allocates_;
};

// All from `first` on at the same time.
void AtOnce(size_t first, std::vector<double>& took, const std::function<double(size_t)>& bind) {
  std::vector<double> each(kAtOnce);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < kAtOnce; ++i) {
    callers.emplace_back([&, i] { each[i] = bind((first + i) % kKnown); });
  }
  for (std::thread& caller : callers) caller.join();
  took.insert(took.end(), each.begin(), each.end());
}

// As many pods as kubelet takes, and one after the other a new one; then many at once, a few times.
void BenchPods(const std::string& text, const PodServer* api) {
  VgpuPods pods(api);
  Samples binds;
  size_t next = 0;
  for (; next < kPods + kAtOnce; ++next) {
    if (next >= kPods) pods.EndFirst();
    pods.Admit(next % kKnown);
    pods.Save();
    const double took = pods.Bind(next % kKnown);
    if (next >= kPods) binds.tessera.push_back(took);
  }
  Samples bursts;
  for (size_t burst = 0; burst < kBursts; ++burst, next += kAtOnce) {
    for (size_t i = 0; i < kAtOnce; ++i) {
      if (burst > 0) pods.EndFirst();
      pods.Admit((next + i) % kKnown);
    }
    pods.Save();
    AtOnce(next, bursts.tessera, [&](size_t pod) { return pods.Bind(pod); });
    AtOnce(next, bursts.bare, [&](size_t pod) { return pods.BindNothing(pod); });
  }
  Row(fmt::format("Allocate of a virtual GPU, {}, ms", text), pods.allocates());
  Row(fmt::format("PreStart with {} pods, {}, ms", kPods, text), binds);
  Row(fmt::format("PreStart, {} at once, {}, ms", kAtOnce, text), bursts);
}

void BenchEqual() {
  BenchPods("equal", nullptr);
}

void BenchRequested() {
  const PodServer api(kKnown);
  BenchPods("as asked for", &api);
}

void BenchMemory() {
  const PodServer api(kWatched);
  Subject watching(Kind::kTessera, VirtualGpus(&api));
  Subject alone(Kind::kTessera, VirtualGpus(nullptr));
  watching.Start();
  alone.Start();
  std::this_thread::sleep_for(kUntilRest);
  Line(fmt::format("memory, {} pods in the watch", kWatched), watching.rss_mb(), alone.rss_mb(),
       "MB", "equal");
}

const std::vector<Part> kParts = {
    {"equal", BenchEqual}, {"requested", BenchRequested}, {"memory", BenchMemory}};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return tessera::bench::RunParts(argc, argv, tessera::bench::kParts);
}
