// SPDX-License-Identifier: Apache-2.0
#include "kubelet/list.h"

#include "kubelet/fields.h"
#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet {
namespace {

using v1beta1::ListAndWatchResponse;

// A list may have thousands of messages. It is written field by field into one string: protobuf
// messages would take several times the memory and the time.

// The bytes of a NUMANode; number 0 is the default and takes none.
size_t NodeSize(int node) {
  return node == 0 ? 0 : NumberSize(static_cast<uint64_t>(int64_t{node}));
}

size_t TopologySize(const std::vector<int>& nodes) {
  size_t size = 0;
  for (int node : nodes) size += FieldSize(NodeSize(node));
  return size;
}

void WriteTopology(const std::vector<int>& nodes, FieldWriter& out) {
  out.Head(v1beta1::Device::kTopologyFieldNumber, TopologySize(nodes));
  for (int node : nodes) {
    out.Head(v1beta1::TopologyInfo::kNodesFieldNumber, NodeSize(node));
    if (node == 0) continue;
    out.Number(v1beta1::NUMANode::kIDFieldNumber, static_cast<uint64_t>(int64_t{node}));
  }
}

const std::vector<int> kNoNodes;

constexpr std::string_view kHealthy = "Healthy";
constexpr std::string_view kUnhealthy = "Unhealthy";

// The fields that all shares of one device have in common. They are rebuilt at the next device, or
// at each share if shares are withheld.
class OfDevice {
 public:
  explicit OfDevice(const Offer& offer) : offer_(offer) {}

  void Turn(const Share& share) {
    if (nodes != nullptr && device_ == share.device && offer_.withheld.empty()) return;
    device_ = share.device;
    nodes = offer_.plan.policy.tells_numa ? &offer_.devices[share.device].numa_nodes : &kNoNodes;
    health = offer_.IsHealthy(share) ? kHealthy : kUnhealthy;
    // kubelet's pod-resources API hides a device with an empty topology, so the topology is set
    // only with nodes.
    size_ = FieldSize(health.size()) + (nodes->empty() ? 0 : FieldSize(TopologySize(*nodes)));
  }
  size_t SizeOf(const Share& share) const { return FieldSize(share.id.size()) + size_; }

  std::string_view health;
  const std::vector<int>* nodes = nullptr;  // null before the first share

 private:
  const Offer& offer_;
  uint32_t device_ = 0;
  size_t size_ = 0;
};

}  // namespace

Status MayFit(std::string_view resource, const DeviceList& devices, const Plan& plan) {
  if (plan.policy.replicas == 1) return {};  // one share per device
  size_t shares = 0;
  size_t least = 0;
  const auto add = [&](size_t count, const std::string& id) {
    shares += count;
    least += count * FieldSize(FieldSize(id.size()) + FieldSize(kHealthy.size()));
  };
  for (const Device& device : devices) {
    if (device.key.source != resource) continue;
    const auto kept = plan.kept.find(device.key.id);
    if (kept == plan.kept.end()) {
      add(static_cast<size_t>(plan.policy.replicas), device.key.id);
    } else {
      for (const std::string& id : kept->second) add(1, id);
    }
  }
  if (least <= kMaxListBytes) return {};
  return Fail(Reason::kListTooLarge,
              "{}: {} shares make a list of more than {} bytes; kubelet takes {}", resource, shares,
              least, kMaxListBytes);
}

Result<ListBytes> SerializeList(const Offer& offer) {
  OfDevice common(offer);
  size_t bytes = 0;
  // The size with all devices unhealthy: a list that fits must still fit when devices fail.
  size_t largest = 0;
  for (const Share& share : offer.shares) {
    common.Turn(share);
    const size_t size = common.SizeOf(share);
    bytes += FieldSize(size);
    largest += FieldSize(size + kUnhealthy.size() - common.health.size());
  }
  if (largest > kMaxListBytes) {
    size_t fit = offer.shares.size() * kMaxListBytes / largest;
    return Fail(Reason::kListTooLarge,
                "{}: {} shares make a list of {} bytes; about {} would fit kubelet's {} bytes",
                offer.resource, offer.shares.size(), largest, fit, kMaxListBytes);
  }
  auto list = std::make_shared<std::string>();
  FieldWriter out(*list, bytes);
  for (const Share& share : offer.shares) {
    common.Turn(share);
    out.Head(ListAndWatchResponse::kDevicesFieldNumber, common.SizeOf(share));
    out.Text(v1beta1::Device::kIDFieldNumber, share.id);
    out.Text(v1beta1::Device::kHealthFieldNumber, common.health);
    if (!common.nodes->empty()) WriteTopology(*common.nodes, out);
  }
  return list;
}

}  // namespace tessera::kubelet
