// SPDX-License-Identifier: Apache-2.0
// Kubernetes events, as `kubectl describe` and `kubectl get events` show them (core/v1). Pure.
// Plain data. Any thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "json/json.h"

namespace tessera::kube {

// The object that an event concerns.
struct Reference {
  std::string kind;           // "Node", "Pod"
  std::string pod_namespace;  // empty: not namespaced
  std::string name;
  std::string uid;             // for a node its name, as in kubelet's events
  std::string container = {};  // for a pod; empty: the whole pod
  bool operator==(const Reference&) const = default;
};
Reference NodeReference(const std::string& node);

struct Event {
  Reference about;
  bool warning = false;
  std::string reason;   // "DeviceUnhealthy"
  std::string message;  // cut to the API server's limit of 1024 bytes
  Wall when{};
  // Identifies the event together with `about` and `when`. Equal ones are one event, even if sent
  // twice.
  std::string subject;
  bool operator==(const Event&) const = default;
};

// The path to create it: "/api/v1/namespaces/NAMESPACE/events".
std::string EventPath(const Event& event);
// The object. `node` is its source. Its name depends on the event alone, so sending it again
// creates no duplicate.
json::Value EventJson(const Event& event, const std::string& node);

}  // namespace tessera::kube
