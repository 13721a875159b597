// SPDX-License-Identifier: Apache-2.0
// A call from kube-scheduler to its extender, whose pod a user wrote. A pod that gets a node must
// be bound with that node's devices, and with no more of each than it has.
#include "scheduler/extender.h"

#include <fmt/core.h>

#include "hami/node_register.h"
#include "hami/pod_devices.h"
#include "hami/vendor_table.h"
#include "scheduler/cluster.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;

namespace tessera::scheduler {
namespace {

constexpr int32_t kMemory = 8000;

// NVIDIA's row, and the last row of each other vendor.
const std::vector<hami::ServedVendor>& Served() {
  static const hami::VendorTable table([] {
    std::vector<hami::VendorConfig> all;
    for (const std::string_view family : hami::kFamilies) {
      const auto usual = hami::UsualConfigs(family);
      all.push_back(usual.back());
    }
    return all;
  }());
  static const std::vector<hami::ServedVendor> served = [] {
    std::vector<hami::ServedVendor> all{hami::ServedVendor()};
    all.insert(all.end(), table.rows().begin(), table.rows().end());
    return all;
  }();
  return served;
}

// A node with two devices of each vendor.
kube::ClusterNode Node() {
  kube::ClusterNode node{.name = "a"};
  for (const hami::ServedVendor& one : Served()) {
    std::vector<hami::RegisteredDevice> devices;
    for (const char* id : {"D-0", "D-1"}) {
      devices.push_back({.id = fmt::format("{}-{}", one.vendor->word, id),
                         .index = static_cast<uint32_t>(devices.size()),
                         .count = 10,
                         .devmem = kMemory,
                         .devcore = 100,
                         .type = std::string(one.vendor->word),
                         .health = true});
    }
    const bool json = one.vendor->node_register_format == hami::Vendor::Register::kJson;
    node.annotations[std::string(one.vendor->node_register)] =
        json ? hami::EncodeRegister(devices) : hami::EncodeOldRegister(devices);
    node.allocatable[one.rules.count_name] = "20";
  }
  return node;
}

// One cluster for all inputs. The caller must remove each pod that it places.
Cluster& OneNode() {
  static Cluster cluster(Served(), {});
  static const bool filled = (cluster.PutNode(Node()), true);
  Require(filled && cluster.holds() == 0 && cluster.refused() == 0, "no pod is left from before");
  return cluster;
}

void CheckDevices(const kube::Binding& binding, const hami::Vendor& vendor) {
  const auto allocated = binding.annotations.find(vendor.pod_allocated);
  if (allocated == binding.annotations.end()) return;
  const auto entries = hami::DecodePodDevices(allocated->second);
  Require(entries.has_value(), "what is bound can be read");
  for (const hami::Entry& entry : *entries) {
    for (const hami::PodDevice& device : entry) {
      const std::string known = fmt::format("{}-D-", vendor.word);
      Require(device.type == vendor.word && device.uuid.starts_with(known), "devices are its");
      const bool sized = !vendor.memory.empty();
      Require(device.memory >= (sized ? 1 : 0) && device.memory <= kMemory,
              "no more than there is");
      Require(device.cores >= 0 && device.cores <= 100, "nor of its time");
    }
  }
}

void CheckPlaced(Cluster& cluster, const FilterCall& call, const FilterAnswer& answer) {
  if (cluster.holds() == 0) return;
  Require(answer.nodes == std::vector<std::string>{"a"}, "room is held where the pod goes");
  const auto binding = cluster.PlaceOn({"n", "p", call.pod.uid, "a"}, {}, {});
  Require(binding.has_value(), "what is held is bound");
  for (const hami::ServedVendor& one : Served()) CheckDevices(*binding, *one.vendor);
}

void CheckFilter(std::string_view text) {
  Cluster& cluster = OneNode();
  auto call = ReadFilterCall(text, cluster.PodFields());
  if (!call) return Require(!call.error().message.empty(), "a refusal says why");
  Require(cluster.Prioritize(*call).size() <= call->nodes.size(), "no other node has a score");
  call->nodes = {"a"};
  call->simulated = false;
  CheckPlaced(cluster, *call, cluster.Filter(*call, {}));
  cluster.RemovePod(call->pod.uid);
}

void CheckPreempt(std::string_view text) {
  const Cluster& cluster = OneNode();
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
