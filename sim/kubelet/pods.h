// SPDX-License-Identifier: Apache-2.0
// The node's pods. A kubelet gets them from the API server. Here a file keeps them, so that they
// outlive a restart. Pure bookkeeping; its owner guards it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/embedded.h"
#include "sim/kubelet/pod_devices.h"

namespace tessera::kubelet::embedded {

using PodName = std::pair<std::string, std::string>;  // namespace, name

struct Pod {
  PodSpec spec;                   // with its uid
  std::set<std::string> started;  // started containers, init containers included

  const ContainerSpec* Find(const std::string& container) const;
};

class Pods {
 public:
  void Put(Pod pod);
  Pod* Find(const PodName& name);
  const Pod* Find(const PodName& name) const;
  bool Remove(const PodName& name);
  const std::map<PodName, Pod>& all() const { return pods_; }
  Ids Uids() const;

  // Writes and reads the file's content. kInvalid: it is no such document.
  std::string Write() const;
  static Result<Pods> Parse(std::string_view text);

 private:
  std::map<PodName, Pod> pods_;
};

// The pod's request for each resource, as the scheduler counts it: containers that run at the same
// time.
std::map<std::string, int> RequestsOf(const PodSpec& pod);

}  // namespace tessera::kubelet::embedded
