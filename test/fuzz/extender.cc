// SPDX-License-Identifier: Apache-2.0
// What kube-scheduler sends its extender, of which the pod is as its user made it. A pod that gets
// a node is bound there with devices that this node has, and no more of each than there is.
#include "scheduler/extender.h"
#include "hami/node_register.h"
#include "hami/pod_devices.h"
#include "scheduler/cluster.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace tessera::scheduler {
namespace {

constexpr int32_t kMemory = 8000;

Cluster OneNode() {
  Cluster cluster(hami::kNvidia,
                  RulesOf(std::string(hami::kNvidia.count), hami::kNvidia.Requests()), {});
  std::vector<hami::RegisteredDevice> gpus;
  for (const char* id : {"GPU-0", "GPU-1"}) {
    gpus.push_back({.id = id,
                    .count = 10,
                    .devmem = kMemory,
                    .devcore = 100,
                    .type = "NVIDIA A100",
                    .health = true});
  }
  cluster.PutNode(
      {.name = "a",
       .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(gpus)}}});
  return cluster;
}

void CheckFilter(std::string_view text) {
  Cluster cluster = OneNode();
  auto call = ReadFilterCall(text, cluster.PodFields());
  if (!call) return Require(!call.error().message.empty(), "a refusal says why");
  Require(cluster.Prioritize(*call).size() <= call->nodes.size(), "no other node has a score");
  call->nodes = {"a"};
  call->simulated = false;
  const FilterAnswer answer = cluster.Filter(*call, {});
  if (cluster.holds() == 0) return;
  Require(answer.nodes == std::vector<std::string>{"a"}, "room is held where the pod goes");
  const auto binding = cluster.PlaceOn({"n", "p", call->pod.uid, "a"}, {}, {});
  Require(binding.has_value(), "what is held is bound");
  const auto entries =
      hami::DecodePodDevices(binding->annotations.find(hami::kNvidia.pod_allocated)->second);
  Require(entries.has_value(), "what is bound can be read");
  for (const hami::Entry& entry : *entries) {
    for (const hami::PodDevice& device : entry) {
      Require(device.uuid == "GPU-0" || device.uuid == "GPU-1", "devices are the node's");
      Require(device.memory > 0 && device.memory <= kMemory, "no more than there is");
      Require(device.cores >= 0 && device.cores <= 100, "nor of its time");
    }
  }
}

void CheckPreempt(std::string_view text) {
  const Cluster cluster = OneNode();
  const auto call = ReadPreemptCall(text, cluster.PodFields());
  if (!call) return Require(!call.error().message.empty(), "a refusal says why");
  for (const auto& [node, victims] : cluster.Preempt(*call)) {
    const auto asked = call->nodes.find(node);
    Require(asked != call->nodes.end() && asked->second == victims, "nobody else is evicted");
  }
}

}  // namespace
}  // namespace tessera::scheduler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tessera::fuzz::Text(data, size);
  tessera::scheduler::CheckFilter(text);
  tessera::scheduler::CheckPreempt(text);
  const auto bind = tessera::scheduler::ReadBindCall(text);
  Require(!bind || !bind->node.empty(), "a bind names a node");
  return 0;
}
