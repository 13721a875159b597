// SPDX-License-Identifier: Apache-2.0
// The latencies that kubelet sees on a node with virtual GPUs, of equal sizes and of sizes that
// pods ask for. The shipped binary, with the fake driver library and a fake API server, is compared
// with a bare grpc++ callback server with the same messages. Prints a table.
// usage: bench_vgpu [equal | requested | memory]...
#include <fmt/core.h>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "api/kubeconfig.h"
#include "api/server.h"
#include "bench/wire/table.h"
#include "kubelet/checkpoint.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;

constexpr int kPerGpu = 40;
constexpr size_t kPods = 120;    // kubelet's limit
constexpr size_t kAtOnce = 100;  // admitted by kubelet before the first container starts
constexpr size_t kKnown = kPods + kAtOnce;
constexpr size_t kBursts = 10;
constexpr size_t kWatched = 500;  // the pods of a large node
constexpr std::chrono::seconds kUntilRest{20};

// A pod in the API server, placed by HAMi's scheduler.
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

// An API server with `pods` pods, which accepts every report. A thread of its own.
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
    const std::string file = fake::WriteKubeconfig(directory, server_.port(), "").value();
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

// Eight GPUs with virtual ones, by CDI. With an API server their sizes are those that pods ask for.
// No process loads the library.
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

// A program, with kubelet's checkpoint of its pods, each with one virtual GPU.
class PodsOf {
 public:
  PodsOf(Kind kind, const PodServer* api) : program_(kind, VirtualGpus(api)) { program_.Start(); }

  // Admits the pod as kubelet does; returns the time of the answer.
  double Admit(size_t pod) {
    const std::string& id = program_.served().ids[pod];
    const auto begin = Clock::now();
    const auto response = program_.connection().Ask({id});
    const double took = Millis(Clock::now() - begin).count();
    checkpoint_.entries.push_back({.pod_uid = fmt::format("uid-{}", pod),
                                   .container = "main",
                                   .resource = program_.served().resource,
                                   .ids_by_numa = {{"-1", {id}}},
                                   .allocate_response = response.SerializeAsString()});
    return took;
  }
  void EndFirst() { checkpoint_.entries.erase(checkpoint_.entries.begin()); }
  void Save() const {
    (void)os::ReplaceFile(
        program_.directory() + "/kubelet/device-plugins/kubelet_internal_checkpoint",
        kubelet::WriteCheckpoint(checkpoint_));
  }
  // Prepares the pod's container. Any thread. The bare server only answers.
  double PreStart(size_t pod) {
    const auto begin = Clock::now();
    program_.connection().PreStart({program_.served().ids[pod]});
    return Millis(Clock::now() - begin).count();
  }

 private:
  Subject program_;
  kubelet::Checkpoint checkpoint_;
};

// Prepares kAtOnce pods' containers at once; returns the time of each.
std::vector<double> AtOnce(PodsOf& pods, size_t first) {
  std::vector<double> took(kAtOnce);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < kAtOnce; ++i) {
    callers.emplace_back([&, i] { took[i] = pods.PreStart((first + i) % kKnown); });
  }
  for (std::thread& caller : callers) caller.join();
  return took;
}

struct Took {
  std::vector<double> allocates;
  std::vector<double> binds;
  std::vector<double> bursts;
};

// Adds one pod. If kubelet is full, the first pod ends before.
void Fill(PodsOf& pods, size_t next, Took& took) {
  if (next >= kPods) pods.EndFirst();
  took.allocates.push_back(pods.Admit(next % kKnown));
  pods.Save();
  const double bind = pods.PreStart(next % kKnown);
  if (next >= kPods) took.binds.push_back(bind);
}

// Admits kAtOnce pods, then prepares all their containers at once.
void Burst(PodsOf& pods, size_t first, bool ends, Took& took) {
  for (size_t i = 0; i < kAtOnce; ++i) {
    if (ends) pods.EndFirst();
    took.allocates.push_back(pods.Admit((first + i) % kKnown));
  }
  pods.Save();
  const std::vector<double> each = AtOnce(pods, first);
  took.bursts.insert(took.bursts.end(), each.begin(), each.end());
}

void BenchPods(const std::string& text, const PodServer* api) {
  PodsOf pods(Kind::kTessera, api);
  PodsOf others(Kind::kBare, api);
  Took took;
  Took bare;
  size_t next = 0;
  for (; next < kKnown; ++next) {
    Fill(pods, next, took);
    Fill(others, next, bare);
  }
  for (size_t burst = 0; burst < kBursts; ++burst, next += kAtOnce) {
    Burst(pods, next, burst > 0, took);
    Burst(others, next, burst > 0, bare);
  }
  Row(fmt::format("Allocate of a virtual GPU, {}, ms", text), {took.allocates, bare.allocates});
  Row(fmt::format("PreStart with {} pods, {}, ms", kPods, text), {took.binds, bare.binds});
  Row(fmt::format("PreStart, {} at once, {}, ms", kAtOnce, text), {took.bursts, bare.bursts});
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
