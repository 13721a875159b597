// SPDX-License-Identifier: Apache-2.0
// A binder for grants of requested sizes, with its bind events. Header-only, for tests.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fraction/grant_binder_under_test.h"
#include "hami/protocol/hami_protocol.h"
#include "hami/vendor.h"

namespace tessera {

class GrantRequestsTest : public GrantBinderTest {
 protected:
  GrantRequestsTest() {
    SetParts(10);
    rendering_.fractions->requests = hami::kNvidia.Requests();
    Listen();
  }

  // Records all bind events in told_.
  void Listen() {
    BindEvents::Listener listener;
    listener.bound = [this](const BoundContainer& bound) {
      const HamiProtocol::BoundEntry given = HamiProtocol::BoundEntryOf(bound, hami::kNvidia);
      told_.push_back(fmt::format("{} {} has {}{}{}", given.pod_uid, given.container,
                                  hami::EncodePodDevices(std::vector<hami::Entry>{given.entry}),
                                  given.less.empty() ? "" : ", less: " + given.less,
                                  given.fitted.empty() ? "" : ", fitted: " + given.fitted));
    };
    listener.refused = [this](const RefusedContainer& refusal) {
      told_.push_back(fmt::format("{} {} is refused{}: {}", refusal.pod_uid, refusal.container,
                                  refusal.for_good ? " for good" : "",
                                  ReasonName(refusal.error.reason)));
    };
    context_->events.SetListener(std::make_shared<BindEvents::Listener>(std::move(listener)));
  }

  std::string Gpu(size_t number) const { return offer_.devices[number].key.id; }
  std::string Chosen(size_t gpu, int memory, int cores) const {
    return fmt::format("{},NVIDIA,{},{}:", Gpu(gpu), memory, cores);
  }
  static kube::Container Asking(const std::string& name, int memory, int cores,
                                kube::Container::Kind kind = kube::Container::Kind::kApp) {
    return {.name = name,
            .kind = kind,
            .limits = {{kGpu, "1"},
                       {"nvidia.com/gpumem", std::to_string(memory)},
                       {"nvidia.com/gpucores", std::to_string(cores)}}};
  }
  // Puts a pod into the pod cache, and into the pods that Bind gets.
  void Know(const std::string& uid, std::vector<kube::Container> containers,
            const std::string& allocated) {
    kube::Pod pod{.uid = uid, .pod_namespace = "team", .name = "pod-" + uid, .node = "worker-1"};
    pod.containers = std::move(containers);
    if (!allocated.empty()) {
      pod.annotations["hami.io/vgpu-devices-allocated"] = allocated;
      pod.annotations["hami.io/vgpu-node"] = "worker-1";
    }
    context_->pods.Put(pod);
    pods_[uid] = context_->pods.Find(uid);
  }
  std::string Unknown(const std::vector<std::string>& ids) {
    return binder_->PodToKnow(Now(), ids, pods_).value();
  }
  std::vector<std::string> EdgesOf(const std::string& grant, bool mounts) const {
    const cdi::Document document =
        cdi::Read(os::ReadFile(directory_ + "/cdi/" + GrantFileName(grant)).value()).value();
    std::vector<std::string> edges;
    const cdi::Edits& edits = document.devices.at(0).edits;
    if (!mounts) return edits.env;
    for (const cdi::Mount& mount : edits.mounts) {
      edges.push_back(mount.host_path + " at " + mount.container_path);
    }
    return edges;
  }

  std::vector<std::string> told_;
};

}  // namespace tessera
