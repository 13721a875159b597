// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "backend/dummy/faults.h"
#include "base/text.h"

namespace tessera::demo {
namespace {

using config::Document;
using config::Node;

constexpr int kMaxPods = 1'000;
constexpr int kMaxCount = 1'000'000;
// Of a scenario. They bound the cost of aliases.
constexpr size_t kMaxAsked = 100'000;  // pods, and resources of their containers
constexpr int kMaxConfigs = 20;

constexpr Duration kLongest{86'400'000};  // so that sums of times do not overflow

// A scenario's time: "2.5s", or any time of the configuration.
std::optional<Duration> ParseMoment(std::string_view text) {
  if (const std::optional<Duration> whole = ParseDuration(text)) {
    return *whole <= kLongest ? whole : std::nullopt;
  }
  if (!text.ends_with('s')) return std::nullopt;
  double seconds = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  const bool is_time = seconds >= 0 && seconds <= 86'400;  // "nan" is none
  if (error != std::errc() || stop != end || !is_time) return std::nullopt;
  return Duration(static_cast<int64_t>(seconds * 1'000 + 0.5));
}

bool IsPodName(std::string_view text) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && good(text.front()) && good(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return good(c) || c == '-'; });
}

std::string Below(const std::string& path, std::string_view key) {
  return fmt::format("{}.{}", path, key);
}

}  // namespace

const std::vector<StepReader::Known>& StepReader::Actions() {
  static const std::vector<Known> kActions = {
      {"say", &StepReader::ReadSay},
      {"run", &StepReader::ReadRun},
      {"burst", &StepReader::ReadBurst},
      {"end", &StepReader::ReadEnd},
      {"end-all", &StepReader::ReadEndAll},
      {"restart-container", &StepReader::ReadRestartContainer},
      {"fault", &StepReader::ReadFault},
      {"hardware", &StepReader::ReadHardware},
      {"mig", &StepReader::ReadMig},
      {"cordon", &StepReader::ReadCordon},
      {"uncordon", &StepReader::ReadUncordon},
      {"kubelet", &StepReader::ReadKubelet},
      {"agent", &StepReader::ReadAgent},
      {"config", &StepReader::ReadConfig},
      {"broken-config", &StepReader::ReadBrokenConfig},
      {"expect", &StepReader::ReadExpect},
  };
  return kActions;
}

std::vector<std::string> StepReader::Keys() {
  std::vector<std::string> keys = {"at", "unhurried"};
  for (const Known& action : Actions()) keys.emplace_back(action.key);
  return keys;
}

void StepReader::Read(const Node& step, const std::string& path) {
  document_.AllowKeys(step, path, Keys());
  if (!step.IsMap()) return;
  line_ = step.line;
  at_ = TimeOf(step, path, "at", at_);
  const Node* unhurried = step.Find("unhurried");
  unhurried_ = unhurried && document_.Bool(*unhurried, Below(path, "unhurried")).value_or(false);
  int actions = 0;
  for (const Known& action : Actions()) {
    const Node* value = step.Find(action.key);
    if (value == nullptr) continue;
    ++actions;
    (this->*action.read)(*value, Below(path, action.key));
  }
  if (actions == 0) {
    document_.Report(
        Reason::kConfigMissing, step,
        fmt::format("{} has no action; docs/how-to/develop-a-plugin.md lists them", path));
  }
}

void StepReader::ReadSay(const Node& node, const std::string& path) {
  Add(Say{document_.Text(node, path).value_or("")});
}

void StepReader::ReadRun(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path, {"pod", "limits", "init", "sidecar", "for"});
  RunPod run;
  run.pod.name = PodName(node, path, "pod");
  run.pod.containers = Containers(node, path);
  const Duration life = TimeOf(node, path, "for", Duration(0));
  const std::string name = run.pod.name;
  Add(std::move(run));
  if (life > Duration(0)) AddAt(at_ + life, EndPod{.pod = name, .must_run = false});
}

void StepReader::ReadBurst(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path,
                      {"prefix", "count", "every", "limits", "init", "sidecar", "for", "jitter"});
  const std::string prefix = PodName(node, path, "prefix");
  if (Need(node, path, "count") == nullptr) return;
  const int count = std::min(IntOf(node, path, "count", 1).value_or(1), kMaxPods);
  const Duration every = TimeOf(node, path, "every", Duration(0));
  const Duration life = TimeOf(node, path, "for", Duration(0));
  const Duration jitter = TimeOf(node, path, "jitter", Duration(0));
  const std::vector<kubelet::ContainerSpec> containers = Containers(node, path);
  size_t asked = 1;
  for (const kubelet::ContainerSpec& container : containers) asked += container.limits.size();
  asked_ += asked * static_cast<size_t>(count);
  if (asked_ > kMaxAsked) {
    document_.Report(Reason::kConfigBadValue, node,
                     fmt::format("{}: the scenario's bursts have more than {} pods and resources "
                                 "of pods, the limit",
                                 path, kMaxAsked));
    return;
  }
  for (int i = 0; i < count; ++i) {
    RunPod run;
    run.pod.name = fmt::format("{}-{}", prefix, i);
    run.pod.containers = containers;
    const Duration start = at_ + every * i;
    const std::string name = run.pod.name;
    AddAt(start, std::move(run));
    if (life == Duration(0)) continue;
    const auto extra = Duration(static_cast<int64_t>(random_() % uint64_t(jitter.count() + 1)));
    AddAt(start + life + extra, EndPod{.pod = name, .must_run = false});
  }
}

void StepReader::ReadEnd(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path, {"pod"});
  Add(EndPod{.pod = PodName(node, path, "pod"), .must_run = true});
}

void StepReader::ReadEndAll(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path, {"prefix"});
  Add(EndAll{NeedText(node, path, "prefix")});
}

void StepReader::ReadRestartContainer(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path, {"pod", "container"});
  std::string container = TextOf(node, path, "container");
  if (container.empty()) container = kMainContainer;
  Add(RestartContainer{PodName(node, path, "pod"), std::move(container)});
}

void StepReader::ReadFault(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path, {"verb", "resource", "device", "pod", "detail"});
  Fault fault;
  if (const Node* verb = Need(node, path, "verb")) {
    fault.verb = document_.OneOf(*verb, Below(path, "verb"), dummy::FaultVerbs()).value_or("");
  }
  fault.resource = NeedText(node, path, "resource");
  fault.device = TextOf(node, path, "device");
  fault.pod = TextOf(node, path, "pod");
  fault.detail = TextOf(node, path, "detail");
  const bool one = fault.verb != "lose-all" && fault.verb != "restore";
  if (one && fault.device.empty() && fault.pod.empty()) {
    document_.Report(Reason::kConfigMissing, node,
                     fmt::format("{} needs a device, or a pod that holds one", path));
  }
  Add(std::move(fault));
}

void StepReader::ReadHardware(const Node& node, const std::string& path) {
  Add(ChangeHardware{ChangeHardware::What::kFaults, document_.Text(node, path).value_or("")});
}

void StepReader::ReadMig(const Node& node, const std::string& path) {
  Add(ChangeHardware{ChangeHardware::What::kMig, document_.Text(node, path).value_or("")});
}

void StepReader::SetCordonOf(const Node& node, const std::string& path, bool out) {
  document_.AllowKeys(node, path, {"resource", "device", "reason"});
  Add(SetCordon{.out = out,
                .resource = NeedText(node, path, "resource"),
                .device = NeedText(node, path, "device"),
                .reason = TextOf(node, path, "reason")});
}

void StepReader::ReadCordon(const Node& node, const std::string& path) {
  SetCordonOf(node, path, true);
}

void StepReader::ReadUncordon(const Node& node, const std::string& path) {
  SetCordonOf(node, path, false);
}

void StepReader::ReadKubelet(const Node& node, const std::string& path) {
  using To = MoveKubelet::To;
  const std::vector<std::string> words = {"restart", "kill", "start"};
  const std::string word = document_.OneOf(node, path, words).value_or("restart");
  Add(MoveKubelet{word == "kill" ? To::kKill : word == "start" ? To::kStart : To::kRestart});
}

void StepReader::ReadAgent(const Node& node, const std::string& path) {
  using To = MoveAgent::To;
  const std::vector<std::string> words = {"stop", "kill", "start", "second-instance"};
  const std::string word = document_.OneOf(node, path, words).value_or("start");
  if (word == "stop") return Add(MoveAgent{To::kStop});
  if (word == "kill") return Add(MoveAgent{To::kKill});
  Add(MoveAgent{word == "start" ? To::kStart : To::kSecondInstance});
}

void StepReader::AddConfig(const Node& node, const std::string& path, bool broken) {
  if (++configs_ > kMaxConfigs) {
    document_.Report(Reason::kConfigBadValue, node,
                     fmt::format("{} is one too many: {} is the limit", path, kMaxConfigs));
    return;
  }
  Add(Reconfigure{ReadAgentConfig(document_, node, path, broken), broken});
}

void StepReader::ReadConfig(const Node& node, const std::string& path) {
  AddConfig(node, path, false);
}

void StepReader::ReadBrokenConfig(const Node& node, const std::string& path) {
  AddConfig(node, path, true);
}

void StepReader::ReadExpect(const Node& node, const std::string& path) {
  document_.AllowKeys(node, path,
                      {"resource", "capacity", "allocatable", "held", "out", "pod", "running",
                       "refused", "within"});
  Expect expect;
  expect.resource = TextOf(node, path, "resource");
  expect.pod = TextOf(node, path, "pod");
  if (expect.resource.empty() == expect.pod.empty()) {
    document_.Report(Reason::kConfigMissing, node,
                     fmt::format("{} asks either about a resource or about a pod", path));
  }
  expect.capacity = IntOf(node, path, "capacity", 0);
  expect.allocatable = IntOf(node, path, "allocatable", 0);
  expect.held = IntOf(node, path, "held", 0);
  expect.out = IntOf(node, path, "out", 0);
  if (const Node* running = node.Find("running")) {
    expect.running = document_.Bool(*running, Below(path, "running"));
  }
  expect.refused = TextOf(node, path, "refused");
  expect.within = TimeOf(node, path, "within", expect.within);
  Add(std::move(expect));
}

const Node* StepReader::Need(const Node& map, const std::string& path, std::string_view key) {
  const Node* value = map.Find(key);
  if (value == nullptr && map.IsMap()) {
    document_.Report(Reason::kConfigMissing, map, fmt::format("{} is missing", Below(path, key)));
  }
  return value;
}

std::string StepReader::NeedText(const Node& map, const std::string& path, std::string_view key) {
  const Node* value = Need(map, path, key);
  return value == nullptr ? "" : document_.Text(*value, Below(path, key)).value_or("");
}

std::string StepReader::TextOf(const Node& map, const std::string& path, std::string_view key) {
  const Node* value = map.Find(key);
  return value == nullptr ? "" : document_.Text(*value, Below(path, key)).value_or("");
}

std::optional<int> StepReader::IntOf(const Node& map, const std::string& path, std::string_view key,
                                     int min) {
  const Node* value = map.Find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = document_.Int(*value, Below(path, key), min, kMaxCount);
  if (!number) return std::nullopt;
  return static_cast<int>(*number);
}

Duration StepReader::TimeOf(const Node& map, const std::string& path, std::string_view key,
                            Duration otherwise) {
  const Node* value = map.Find(key);
  if (value == nullptr) return otherwise;
  const std::optional<std::string> text = document_.Text(*value, Below(path, key));
  if (!text) return otherwise;
  if (std::optional<Duration> time = ParseMoment(*text)) return *time;
  document_.Report(Reason::kConfigWrongType, *value,
                   fmt::format("{} takes a time up to 24h such as 2.5s or 250ms, not {}",
                               Below(path, key), config::Quoted(*text)));
  return otherwise;
}

std::string StepReader::PodName(const Node& map, const std::string& path, std::string_view key) {
  const Node* value = Need(map, path, key);
  if (value == nullptr) return "";
  std::string name = document_.Text(*value, Below(path, key)).value_or("");
  if (!name.empty() && !IsPodName(name)) {
    document_.Report(Reason::kConfigBadName, *value,
                     fmt::format("{} takes lower-case letters, digits and '-', not {}",
                                 Below(path, key), config::Quoted(name)));
    return "";
  }
  return name;
}

std::map<std::string, int> StepReader::Limits(const Node* node, const std::string& path) {
  std::map<std::string, int> limits;
  if (node == nullptr) return limits;
  if (!node->IsMap()) {
    document_.Report(Reason::kConfigWrongType, *node,
                     fmt::format("{} takes a map of resource names and counts", path));
    return limits;
  }
  for (const Node::Entry& entry : node->entries) {
    const std::string& resource = entry.key.scalar;
    if (!IsExtendedResourceName(resource)) {
      document_.Report(
          Reason::kConfigBadName, entry.key,
          fmt::format("{}: {} is not a resource name", path, config::Quoted(resource)));
      continue;
    }
    const auto count = document_.Int(entry.value, Below(path, resource), 0, kMaxCount);
    limits[resource] = static_cast<int>(count.value_or(0));
  }
  return limits;
}

std::vector<kubelet::ContainerSpec> StepReader::Containers(const Node& map,
                                                           const std::string& path) {
  using Kind = kubelet::ContainerSpec::Kind;
  std::vector<kubelet::ContainerSpec> containers;
  if (const Node* init = map.Find("init")) {
    containers.push_back({kInitContainer, Kind::kInit, Limits(init, Below(path, "init"))});
  }
  if (const Node* sidecar = map.Find("sidecar")) {
    containers.push_back(
        {kSidecarContainer, Kind::kSidecar, Limits(sidecar, Below(path, "sidecar"))});
  }
  containers.push_back(
      {kMainContainer, Kind::kApp, Limits(map.Find("limits"), Below(path, "limits"))});
  return containers;
}

void StepReader::AddAt(Duration at, Action action) {
  steps_.push_back({at, unhurried_, line_, std::move(action)});
}

}  // namespace tessera::demo
