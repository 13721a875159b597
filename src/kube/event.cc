// SPDX-License-Identifier: Apache-2.0
#include "kube/event.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"

namespace tessera::kube {
namespace {

constexpr size_t kMessageLimit = 1024;  // bytes, as the API server has it
// Of an object's name: kubelet's events are named so, too, with a dot and 16 digits behind it.
constexpr size_t kNameLimit = 253 - 17;

// Events about what is in no namespace are in this one.
std::string NamespaceOf(const Reference& about) {
  return about.pod_namespace.empty() ? "default" : about.pod_namespace;
}

// The same event has the same name whichever process tells it.
std::string NameOf(const Event& event) {
  uint64_t hash = Fnv1a(event.subject);
  for (const std::string& part :
       {event.about.uid, event.about.container, event.reason, FormatTime(event.when)}) {
    hash = Fnv1a(part, Fnv1a("\n", hash));
  }
  return fmt::format("{}.{:016x}", std::string_view(event.about.name).substr(0, kNameLimit), hash);
}

// Cut so that no character is torn.
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
  // In whole seconds, which is all that this kind of time may have.
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
