// SPDX-License-Identifier: Apache-2.0
#include "kubelet/list.h"

#include "kubelet/fields.h"
#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet {
namespace {

using v1beta1::ListAndWatchResponse;

// A list of many thousand messages is written field by field into one string: building the messages
// first costs several times the memory and the time.

// Of a NUMANode; number 0 is the default and takes no bytes.
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

constexpr std::string_view kHealthy = "Healthy";
constexpr std::string_view kUnhealthy = "Unhealthy";

std::string_view HealthOf(const Share& share) {
  return share.healthy ? kHealthy : kUnhealthy;
}

size_t DeviceSize(const Offer& offer, const Share& share) {
  const std::vector<int>& nodes = offer.devices[share.device].numa_nodes;
  const size_t size = FieldSize(share.id.size()) + FieldSize(HealthOf(share).size());
  // An empty topology would hide the device from pod-resources, so it is set only with nodes.
  return nodes.empty() ? size : size + FieldSize(TopologySize(nodes));
}

}  // namespace

Result<ListBytes> SerializeList(const Offer& offer) {
  size_t bytes = 0;
  size_t largest = 0;  // were all of them sick: a list must not cease to fit when it matters most
  for (const Share& share : offer.shares) {
    const size_t size = DeviceSize(offer, share);
    bytes += FieldSize(size);
    largest += FieldSize(size + kUnhealthy.size() - HealthOf(share).size());
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
    out.Head(ListAndWatchResponse::kDevicesFieldNumber, DeviceSize(offer, share));
    out.Text(v1beta1::Device::kIDFieldNumber, share.id);
    out.Text(v1beta1::Device::kHealthFieldNumber, HealthOf(share));
    const std::vector<int>& nodes = offer.devices[share.device].numa_nodes;
    if (!nodes.empty()) WriteTopology(nodes, out);
  }
  return list;
}

}  // namespace tessera::kubelet
