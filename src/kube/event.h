// SPDX-License-Identifier: Apache-2.0
// Events as `kubectl describe` and `kubectl get events` show them (core/v1). Pure; plain data; any
// thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "json/json.h"

namespace tessera::kube {

// What an event is about.
struct Reference {
  std::string kind;           // "Node", "Pod"
  std::string pod_namespace;  // empty: the object is in none
  std::string name;
  std::string uid;             // of a node its name, as kubelet's own events have it
  std::string container = {};  // of a pod; empty: the whole pod
  bool operator==(const Reference&) const = default;
};
Reference NodeReference(const std::string& node);

struct Event {
  Reference about;
  bool warning = false;
  std::string reason;   // "DeviceUnhealthy"
  std::string message;  // the API server takes 1024 bytes; what is longer is cut
  Wall when{};
  // What with `about` and `when` makes it another event than all others: the same one told twice is
  // one event.
  std::string subject;
  bool operator==(const Event&) const = default;
};

// Where it is created: "/api/v1/namespaces/NAMESPACE/events".
std::string EventPath(const Event& event);
// The object; `node` is where it comes from. Its name is made from the event alone.
json::Value EventJson(const Event& event, const std::string& node);

}  // namespace tessera::kube
