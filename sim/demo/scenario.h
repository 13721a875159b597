// SPDX-License-Identifier: Apache-2.0
// A scenario: the node's events and their times. People write it in YAML
// (docs/how-to/develop-a-plugin.md lists every key). It is read here into plain steps in playing
// order. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "config/schema/yaml.h"
#include "grant/grant.h"
#include "sim/kubelet/embedded.h"

namespace tessera::demo {

// A resource's division of its GPUs into virtual ones. Also the directory of the CDI documents with
// each container's limits.
struct VirtualGpus {
  FractionRules division{};
  std::string cdi_dir{};
};

// The agent's configuration without paths, which the demo passes as flags.
struct AgentConfig {
  std::string text;  // the file's text in the scenario
  // For the laws: resource -> the variable with the granted devices; empty: none.
  std::map<std::string, std::string> envs;
  std::set<std::string> kinds{};               // of its resources: "amd"
  std::map<std::string, VirtualGpus> vgpus{};  // by resource; only those with policy vgpu
  std::set<std::string> paired{};              // resources of pairs, and of their parts
};

// The namespace of every scenario's pods, and the names of their containers.
inline constexpr char kPodNamespace[] = "default";
inline constexpr char kInitContainer[] = "init";
inline constexpr char kSidecarContainer[] = "sidecar";
inline constexpr char kMainContainer[] = "main";

// "ns/name", or only the name in the namespace of a scenario's pods.
std::string PodText(const std::string& pod_namespace, const std::string& name);

// A sentence for the viewer about the next events.
struct Say {
  std::string text;
};

// kubelet gets one pod, and admits or refuses it.
struct RunPod {
  kubelet::PodSpec pod;
};

struct EndPod {
  std::string pod{};
  bool must_run = true;  // false: the end was planned with the pod, which may have been refused
};

struct EndAll {
  std::string prefix;  // of pod names
};

struct RestartContainer {
  std::string pod;
  std::string container;
};

// A fault of the devices themselves.
struct Fault {
  std::string verb{};  // "fail", "heal", "flap", ...; see backend/dummy/faults.h
  std::string resource{};
  std::string device{};  // empty: the one that `pod` holds, or all
  std::string pod{};     // means the first device that this pod holds
  std::string detail{};
};

// The hardware changes. The text is in the form of its library (hardware_api.h).
struct ChangeHardware {
  enum class What : uint8_t { kFaults, kMig };
  What what = What::kFaults;
  std::string yaml{};
};

// A person takes a device out or puts it back.
struct SetCordon {
  bool out = true;
  std::string resource{};
  std::string device{};
  std::string reason{};
};

struct MoveKubelet {
  enum class To : uint8_t { kRestart, kKill, kStart };
  To to = To::kRestart;
};

struct MoveAgent {
  enum class To : uint8_t { kStop, kKill, kStart, kSecondInstance };
  To to = To::kStop;
};

// The agent's configuration file is rewritten.
struct Reconfigure {
  AgentConfig config;
  bool broken = false;  // on purpose: the agent keeps its former one
};

// A condition, now or within a time; the scenario waits for it.
struct Expect {
  std::string resource{};  // empty: the condition is about `pod`
  std::optional<int> capacity{};
  std::optional<int> allocatable{};
  std::optional<int> held{};
  std::optional<int> out{};  // so many devices, but not all, are not allocatable

  std::string pod{};
  std::optional<bool> running{};
  std::string refused{};  // part of the message of the refusal

  Duration within{20'000};  // real time at any speed
  // "dummy.com/npu allocatable 63, held 2", for people.
  std::string Text() const;
};

using Action = std::variant<Say, RunPod, EndPod, EndAll, RestartContainer, Fault, ChangeHardware,
                            SetCordon, MoveKubelet, MoveAgent, Reconfigure, Expect>;

struct Step {
  Duration at{};           // earliest time, in the scenario's time
  bool unhurried = false;  // `at` is real time at any speed
  int line = 0;            // its line in the file
  Action action;
};

struct Scenario {
  std::string name;  // of the file, for messages
  std::string title;
  uint64_t seed = 1;
  kubelet::ConnectionRules rules = kubelet::ConnectionRules::kUpTo136;
  AgentConfig config;       // at the start
  std::vector<Step> steps;  // by time; steps of one time stay in the file's order

  Duration length() const { return steps.empty() ? Duration(0) : steps.back().at; }
};

struct ReadScenario {
  Scenario scenario;
  std::vector<config::Problem> problems;  // empty: the scenario can be played
};

// Reads the scenario and finds all problems at once. Bursts, and ends of pods with a time to live,
// become steps of their own. `seed` decides their jitter.
ReadScenario ParseScenario(config::Document document);

// The flags that override a configuration's paths: name without dashes -> value. They put all that
// the agent touches below `directory`.
std::map<std::string, std::string> AgentFlags(const std::string& directory);
// Reads a configuration's text in the scenario below `node`. Its problems are reported at their
// place in the scenario. With `broken`, it is a problem if there are none.
AgentConfig ReadAgentConfig(config::Document& scenario, const config::Node& node,
                            const std::string& path, bool broken);

}  // namespace tessera::demo
