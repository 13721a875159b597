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

// More than this at once are told together.
constexpr size_t kInDetail = 8;
// So many are named where not all can be.
constexpr size_t kNamed = 3;
// The condition's reasons: by them ours is told from another one of the same type.
constexpr char kNoneOut[] = "DevicesHealthy";
constexpr char kSomeOut[] = "DeviceUnhealthy";

// Told of are the falls of devices that were offered or have just been looked at for the first
// time, and the end of such a fall.
bool Fell(const Transition& step) {
  return step.after.state == HealthState::kUnhealthy &&
         (step.before.offered() || step.before.state == HealthState::kUnverified);
}
bool CameBack(const Transition& step) {
  return step.after.offered() && (step.before.state == HealthState::kUnhealthy ||
                                  step.before.state == HealthState::kRecovering);
}

// Steps of one direction, told at one moment.
struct News {
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
std::string Named(const std::vector<std::string>& names) {
  const auto end = names.size() > kNamed + 1 ? names.begin() + kNamed : names.end();
  std::string text = Join(std::vector<std::string>(names.begin(), end), ", ");
  if (end != names.end()) text += fmt::format(" and {} more", names.end() - end);
  return text;
}

// "device a is unhealthy: XID 79 ...", of several what is true of the first.
std::string TextOf(const std::vector<const Transition*>& steps, bool bad) {
  std::vector<std::string> names;
  for (const Transition* step : steps) names.push_back(step->key.Text());
  const std::string_view noun = steps.size() == 1 ? "device" : "devices";
  const std::string_view verb = steps.size() == 1 ? "is" : "are";
  if (!bad) return fmt::format("{} {} {} healthy again", noun, Named(names), verb);
  return fmt::format("{} {} {} unhealthy: {}{}", noun, Named(names), verb,
                     steps.size() == 1 ? "" : "the first of them: ", Why(*steps.front()));
}

using Pod = std::pair<std::string, std::string>;  // namespace and name

struct Held {
  std::string uid{};
  std::set<std::string> containers{};
  std::vector<const Transition*> steps{};
};

std::map<Pod, Held> HoldersOf(const News& news, const Ledger& ledger) {
  std::map<std::string_view, const Transition*> by_id;
  for (const Transition* step : news.steps) by_id.emplace(step->key.id, step);
  std::map<Pod, Held> pods;
  for (const Holding& holding : ledger.holdings()) {
    if (holding.resource != news.source || holding.pod.empty()) continue;
    for (const std::string& device : ledger.DevicesOf(holding)) {
      const auto found = by_id.find(device);
      if (found == by_id.end()) continue;
      Held& held = pods[{holding.pod_namespace, holding.pod}];
      held.uid = holding.pod_uid;
      held.containers.insert(holding.container);
      if (std::ranges::count(held.steps, found->second) == 0) held.steps.push_back(found->second);
    }
  }
  return pods;
}

std::vector<kube::Event> NodeEvents(const News& news) {
  const auto event = [&](const std::vector<const Transition*>& steps) {
    return kube::Event{.about = kube::NodeReference(news.node),
                       .warning = news.bad,
                       .reason = std::string(news.reason()),
                       .message = TextOf(steps, news.bad),
                       .when = news.when,
                       .subject = steps.size() == 1 ? steps[0]->key.Text() : news.source};
  };
  if (news.steps.size() > kInDetail) return {event(news.steps)};
  std::vector<kube::Event> events;
  events.reserve(news.steps.size());
  for (const Transition* step : news.steps) events.push_back(event({step}));
  return events;
}

std::vector<kube::Event> PodEvents(const News& news, const Ledger& ledger) {
  std::vector<kube::Event> events;
  for (const auto& [pod, held] : HoldersOf(news, ledger)) {
    const bool one = held.containers.size() == 1;
    const std::string message = TextOf(held.steps, news.bad);
    events.push_back({.about = {.kind = "Pod",
                                .pod_namespace = pod.first,
                                .name = pod.second,
                                .uid = held.uid,
                                .container = one ? *held.containers.begin() : ""},
                      .warning = news.bad,
                      .reason = std::string(news.reason()),
                      .message = message,
                      .when = news.when,
                      // Two devices of a pod may fall in one millisecond, one after the other.
                      .subject = message});
  }
  return events;
}

}  // namespace

std::vector<kube::Event> EventsOf(const std::string& source, const std::vector<Transition>& steps,
                                  const Ledger& ledger, const std::string& node_name, Wall now) {
  std::vector<kube::Event> events;
  for (const bool bad : {true, false}) {
    News news{.source = source, .node = node_name, .bad = bad, .when = now, .steps = {}};
    for (const Transition& step : steps) {
      if (bad ? Fell(step) : CameBack(step)) news.steps.push_back(&step);
    }
    if (news.steps.empty()) continue;
    for (kube::Event& event : NodeEvents(news)) events.push_back(std::move(event));
    for (kube::Event& event : PodEvents(news, ledger)) events.push_back(std::move(event));
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
                       .message = fmt::format("{} is for the limiting library alone: {}",
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
  return {.type = type,
          .holds = true,
          .reason = kSomeOut,
          .message = fmt::format("{} of {} unhealthy: {}; {}{}", out.size(), Count(all, "device"),
                                 Named(out), out.size() == 1 ? "" : "the first: ", first->Text())};
}

std::optional<json::Value> ConditionsRemoval(const std::set<std::string>& types,
                                             const json::Value& node) {
  return kube::ConditionRemoval(types, {kNoneOut, kSomeOut}, node);
}

}  // namespace tessera
