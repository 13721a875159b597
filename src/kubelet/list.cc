// SPDX-License-Identifier: Apache-2.0
#include "kubelet/list.h"

#include "proto/deviceplugin/deviceplugin.pb.h"

namespace tessera::kubelet {

Result<ListBytes> SerializeList(const Offer& offer) {
  v1beta1::ListAndWatchResponse list;
  list.mutable_devices()->Reserve(static_cast<int>(offer.shares.size()));
  for (const Share& share : offer.shares) {
    auto* device = list.add_devices();
    device->set_id(share.id);
    device->set_health(share.healthy ? "Healthy" : "Unhealthy");
    // An empty topology would hide the device from pod-resources, so it is set only with nodes.
    for (int node : offer.devices[share.device].numa_nodes) {
      device->mutable_topology()->add_nodes()->set_id(node);
    }
  }
  size_t bytes = list.ByteSizeLong();
  if (bytes > kMaxListBytes) {
    size_t fit = offer.shares.size() * kMaxListBytes / bytes;
    return Fail(Reason::kListTooLarge,
                "{}: {} shares make a list of {} bytes; about {} would fit kubelet's {} bytes",
                offer.resource, offer.shares.size(), bytes, fit, kMaxListBytes);
  }
  auto text = std::make_shared<std::string>();
  list.SerializeToString(text.get());
  return text;
}

}  // namespace tessera::kubelet
