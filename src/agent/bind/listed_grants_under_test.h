// SPDX-License-Identifier: Apache-2.0
// A kubelet whose checkpoint nobody knows, pods that ask for sizes and pods of equal parts.
// Header-only, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/bind/grant_requests_under_test.h"

namespace tessera::agent {

inline constexpr char kShape[] =
    "grant-unknown: nvidia.com/gpu: kubelet's checkpoint is of a shape that this agent does not "
    "know (a newer one may), and ";

class ListedGrantsTest : public GrantRequestsTest {
 protected:
  void List(const std::string& pod, const std::string& container, std::vector<std::string> ids,
            const std::string& resource = kGpu) {
    auto list = list_ ? *list_ : kubelet::PodList();
    list.asked = clock_.Now();
    list.holdings.push_back({.pod_namespace = "team",
                             .pod = pod,
                             .pod_uid = "",
                             .container = container,
                             .resource = resource,
                             .share_ids = std::move(ids)});
    list_ = std::make_shared<const kubelet::PodList>(std::move(list));
  }
  void Promise(std::vector<std::string> ids, const std::string& grant,
               const std::string& parts = kPartsAsked, const std::string& resource = kGpu) {
    binder_->Promised(resource, std::move(ids), AnswerFor(grant, parts));
  }
  static Grant AnswerFor(const std::string& grant, const std::string& parts) {
    return {.envs = {},
            .mounts = {},
            .devices = {},
            .annotations = {{kGrantAnnotation, grant}, {kPartsAnnotation, parts}},
            .cdi_devices = {"ab.com/grant=" + grant}};
  }
  std::string Half(size_t gpu) const { return Gpu(gpu) + "=500:50"; }
  // Asked for by its name since the list.
  void KnowByName(const std::string& uid, std::vector<kube::Container> containers,
                  const std::string& allocated) {
    Know(uid, std::move(containers), allocated);
    pods_["team/pod-" + uid] = pods_[uid];
  }
};

}  // namespace tessera::agent
