// SPDX-License-Identifier: Apache-2.0
#include "report/health_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "share/share.h"

namespace tessera {
namespace {

// More simultaneous changes than this share one event.
constexpr size_t kInDetail = 8;
// The number of names in such an event.
constexpr size_t kNamed = 3;
// The condition's reasons. They distinguish our condition from another party's of the same type.
constexpr char kNoneOut[] = "DevicesHealthy";
constexpr char kSomeOut[] = "DeviceUnhealthy";

// Events report the falls of devices that were offered, or whose first check failed, and the end of
// such a fall.
bool Fell(const Transition& step) {
  return step.after.state == HealthState::kUnhealthy &&
         (step.before.offered() || step.before.state == HealthState::kUnverified);
}
bool CameBack(const Transition& step) {
  return step.after.offered() && (step.before.state == HealthState::kUnhealthy ||
                                  step.before.state == HealthState::kRecovering);
}

// Transitions in one direction, reported at one time.
struct HealthChange {
  const std::string& source;
  const std::string& node;
  bool bad;
  Wall when;
  std::vector<const Transition*> steps;

  std::string_view reason() const { return bad ? "DeviceUnhealthy" : "DeviceHealthy"; }
};

std::string Why(const Transition& step) {
  return Error{step.after.reason, step.after.detail}.Text();
}

// "a, b and 5 more".
std::string JoinNames(const std::vector<std::string>& names) {
  const auto end = names.size() > kNamed + 1 ? names.begin() + kNamed : names.end();
  std::string text = Join(std::vector<std::string>(names.begin(), end), ", ");
  if (end != names.end()) text += fmt::format(" and {} more", names.end() - end);
  return text;
}

// "device a is unhealthy: XID 79 ..."; for several devices, the first one's cause.
std::string TextOf(const std::vector<const Transition*>& steps, bool bad) {
  std::vector<std::string> names;
  for (const Transition* step : steps) names.push_back(step->key.Text());
  const std::string_view noun = steps.size() == 1 ? "device" : "devices";
  const std::string_view verb = steps.size() == 1 ? "is" : "are";
  if (!bad) return fmt::format("{} {} {} healthy again", noun, JoinNames(names), verb);
  return fmt::format("{} {} {} unhealthy: {}{}", noun, JoinNames(names), verb,
                     steps.size() == 1 ? "" : "the first of them: ", Why(*steps.front()));
}

using Pod = std::pair<std::string, std::string>;  // namespace and name

struct AffectedPod {
  std::string uid{};
  std::set<std::string> containers{};
  std::vector<const Transition*> steps{};
};

std::map<Pod, AffectedPod> HoldersOf(const HealthChange& change, const Ledger& ledger) {
  std::map<std::string_view, const Transition*> by_id;
  for (const Transition* step : change.steps) by_id.emplace(step->key.id, step);
  std::map<Pod, AffectedPod> pods;
  for (const Holding& holding : ledger.holdings()) {
    if (holding.resource != change.source || holding.pod.empty()) continue;
    for (const std::string& device : ledger.DevicesOf(holding)) {
      const auto found = by_id.find(device);
      if (found == by_id.end()) continue;
      AffectedPod& held = pods[{holding.pod_namespace, holding.pod}];
      held.uid = holding.pod_uid;
      held.containers.insert(holding.container);
      if (std::ranges::count(held.steps, found->second) == 0) held.steps.push_back(found->second);
    }
  }
  return pods;
}

std::vector<kube::Event> NodeEvents(const HealthChange& change) {
  const auto event = [&](const std::vector<const Transition*>& steps) {
    return kube::Event{.about = kube::NodeReference(change.node),
                       .warning = change.bad,
                       .reason = std::string(change.reason()),
                       .message = TextOf(steps, change.bad),
                       .when = change.when,
                       .subject = steps.size() == 1 ? steps[0]->key.Text() : change.source};
  };
  if (change.steps.size() > kInDetail) return {event(change.steps)};
  std::vector<kube::Event> events;
  events.reserve(change.steps.size());
  for (const Transition* step : change.steps) events.push_back(event({step}));
  return events;
}

std::vector<kube::Event> PodEvents(const HealthChange& change, const Ledger& ledger) {
  std::vector<kube::Event> events;
  for (const auto& [pod, held] : HoldersOf(change, ledger)) {
    const bool one = held.containers.size() == 1;
    const std::string message = TextOf(held.steps, change.bad);
    events.push_back({.about = {.kind = "Pod",
                                .pod_namespace = pod.first,
                                .name = pod.second,
                                .uid = held.uid,
                                .container = one ? *held.containers.begin() : ""},
                      .warning = change.bad,
                      .reason = std::string(change.reason()),
                      .message = message,
                      .when = change.when,
                      // Two devices of a pod may fall in the same millisecond, in two reports.
                      .subject = message});
  }
  return events;
}

}  // namespace

std::vector<kube::Event> EventsOf(const std::string& source, const std::vector<Transition>& steps,
                                  const Ledger& ledger, const std::string& node_name, Wall now) {
  std::vector<kube::Event> events;
  for (const bool bad : {true, false}) {
    HealthChange change{.source = source, .node = node_name, .bad = bad, .when = now, .steps = {}};
    for (const Transition& step : steps) {
      if (bad ? Fell(step) : CameBack(step)) change.steps.push_back(&step);
    }
    if (change.steps.empty()) continue;
    for (kube::Event& event : NodeEvents(change)) events.push_back(std::move(event));
    for (kube::Event& event : PodEvents(change, ledger)) events.push_back(std::move(event));
  }
  return events;
}

namespace {

// "/usr/local/vgpu" of "/usr/local/vgpu/containers/GRANT".
std::string SeenFromWithin(const std::string& directory) {
  const std::string containers = directory.substr(0, directory.rfind('/'));
  return containers.substr(0, containers.rfind('/'));
}

}  // namespace

std::optional<kube::Event> EventOf(const GrantSpace::Cut& cut, const Ledger& ledger, Wall now) {
  for (const Holding& holding : ledger.holdings()) {
    const bool is_pod = holding.pod_uid == cut.record->pod_uid ||
                        holding.pod_namespace + "/" + holding.pod == cut.record->pod_uid;
    if (!is_pod || holding.pod.empty() || holding.container != cut.record->container) continue;
    return kube::Event{.about = {.kind = "Pod",
                                 .pod_namespace = holding.pod_namespace,
                                 .name = holding.pod,
                                 .uid = holding.pod_uid,
                                 .container = holding.container},
                       .warning = true,
                       .reason = "VgpuDirectoryCutBack",
                       .message = fmt::format("{} is reserved for the limiting library: {}",
                                              SeenFromWithin(cut.record->directory), cut.what),
                       .when = now,
                       .subject = cut.grant};
  }
  return std::nullopt;
}

kube::Condition ConditionOf(const Node& node, const std::string& type) {
  std::vector<std::string> out;
  std::optional<Error> first;
  size_t all = 0;
  for (const Device& device : node.inventory()->devices) {
    ++all;
    const Verdict& verdict = node.VerdictOf(device.key);
    const bool known = verdict.state == HealthState::kUnhealthy ||
                       verdict.state == HealthState::kRecovering || device.defect.has_value();
    if (!known || node.CordonOf(device) != nullptr) continue;
    if (!first) first = device.defect.value_or(Error{verdict.reason, verdict.detail});
    out.push_back(device.key.Text());
  }
  if (out.empty()) {
    return {.type = type, .holds = false, .reason = kNoneOut, .message = "no device is unhealthy"};
  }
  return {
      .type = type,
      .holds = true,
      .reason = kSomeOut,
      .message = fmt::format("{} of {} unhealthy: {}; {}{}", out.size(), Count(all, "device"),
                             JoinNames(out), out.size() == 1 ? "" : "the first: ", first->Text())};
}

std::optional<json::Value> ConditionsRemoval(const std::set<std::string>& types,
                                             const json::Value& node) {
  return kube::ConditionRemoval(types, {kNoneOut, kSomeOut}, node);
}

}  // namespace tessera
