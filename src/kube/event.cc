// SPDX-License-Identifier: Apache-2.0
#include "kube/event.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"

namespace tessera::kube {
namespace {

constexpr size_t kMessageLimit = 1024;  // bytes; the API server's limit
// The limit of object names, less a dot and 16 digits. Kubelet names its events the same way.
constexpr size_t kNameLimit = 253 - 17;

// Events of objects without a namespace go to this one.
std::string NamespaceOf(const Reference& about) {
  return about.pod_namespace.empty() ? "default" : about.pod_namespace;
}

// Every process gives the same event the same name.
std::string NameOf(const Event& event) {
  uint64_t hash = Fnv1a(event.subject);
  for (const std::string& part :
       {event.about.uid, event.about.container, event.reason, FormatTime(event.when)}) {
    hash = Fnv1a(part, Fnv1a("\n", hash));
  }
  return fmt::format("{}.{:016x}", std::string_view(event.about.name).substr(0, kNameLimit), hash);
}

// Cuts at a character boundary.
std::string Cut(const std::string& message) {
  if (message.size() <= kMessageLimit) return message;
  size_t end = kMessageLimit - 3;
  while (end > 0 && (static_cast<uint8_t>(message[end]) & 0xc0) == 0x80) --end;
  return message.substr(0, end) + "...";
}

json::Object ReferenceJson(const Reference& about) {
  json::Object object{
      {"apiVersion", "v1"}, {"kind", about.kind}, {"name", about.name}, {"uid", about.uid}};
  if (!about.pod_namespace.empty()) object["namespace"] = about.pod_namespace;
  if (!about.container.empty()) {
    object["fieldPath"] = fmt::format("spec.containers{{{}}}", about.container);
  }
  return object;
}

}  // namespace

Reference NodeReference(const std::string& node) {
  return {.kind = "Node", .pod_namespace = "", .name = node, .uid = node};
}

std::string EventPath(const Event& event) {
  return fmt::format("/api/v1/namespaces/{}/events", NamespaceOf(event.about));
}

json::Value EventJson(const Event& event, const std::string& node) {
  // Whole seconds: this field has no fractions.
  const std::string when = FormatTime(event.when).substr(0, 19) + "Z";
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::Object{{"name", NameOf(event)}, {"namespace", NamespaceOf(event.about)}}},
      {"involvedObject", ReferenceJson(event.about)},
      {"type", event.warning ? "Warning" : "Normal"},
      {"reason", event.reason},
      {"message", Cut(event.message)},
      {"source", json::Object{{"component", "tessera"}, {"host", node}}},
      {"reportingComponent", "tessera"},
      {"reportingInstance", node},
      {"firstTimestamp", when},
      {"lastTimestamp", when},
      {"count", 1}};
}

}  // namespace tessera::kube
