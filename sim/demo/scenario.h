// SPDX-License-Identifier: Apache-2.0
// A scenario: what happens on the node, and when. Written by people in YAML
// (docs/how-to/develop-a-plugin.md names every key), read here into plain steps in the order they
// are played. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "config/schema/yaml.h"
#include "grant/grant.h"
#include "sim/kubelet/embedded.h"

namespace tessera::demo {

// How a resource divides its GPUs into virtual ones, and where the CDI documents are that say what
// each container may use.
struct VirtualGpus {
  FractionRules division{};
  std::string cdi_dir{};
};

// The agent's configuration, without the paths, which the demo gives the agent as flags.
struct AgentConfig {
  std::string text;  // the file, as it stands in the scenario
  // What of it the laws need: resource -> the variable that names the granted devices; empty: none.
  std::map<std::string, std::string> envs;
  bool nvidia = false;                         // it has a resource of NVIDIA's GPUs
  std::map<std::string, VirtualGpus> vgpus{};  // resource -> how; others are not in it
};

// Of every scenario's pods: their namespace and the names of their containers.
inline constexpr char kPodNamespace[] = "default";
inline constexpr char kInitContainer[] = "init";
inline constexpr char kSidecarContainer[] = "sidecar";
inline constexpr char kMainContainer[] = "main";

// "ns/name" or, in the namespace of a scenario's pods, only the name.
std::string PodText(const std::string& pod_namespace, const std::string& name);

// A sentence for whoever watches: what is about to be seen.
struct Say {
  std::string text;
};

// One pod is handed to kubelet, which admits or refuses it.
struct RunPod {
  kubelet::PodSpec pod;
};

struct EndPod {
  std::string pod{};
  bool must_run = true;  // false: planned when the pod was started, which may have been refused
};

struct EndAll {
  std::string prefix;  // of pod names
};

struct RestartContainer {
  std::string pod;
  std::string container;
};

// Something happens to the devices themselves.
struct Fault {
  std::string verb{};  // "fail", "heal", "flap", ...; see backend/dummy/faults.h
  std::string resource{};
  std::string device{};  // empty: the one `pod` holds, or all
  std::string pod{};     // the first device this pod holds
  std::string detail{};
};

// The NVIDIA hardware behaves otherwise from now on, in the words of the fake NVML
// (hardware_api.h).
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

// The agent's configuration file is written anew.
struct Reconfigure {
  AgentConfig config;
  bool broken = false;  // on purpose: the agent keeps what it had
};

// What must be true, now or within a while; the scenario waits for it.
struct Expect {
  std::string resource{};  // empty when `pod` is what is asked about
  std::optional<int> capacity{};
  std::optional<int> allocatable{};
  std::optional<int> held{};
  std::optional<int> out{};  // so many of them, and not all, are not allocatable

  std::string pod{};
  std::optional<bool> running{};
  std::string refused{};  // part of the message it was refused with

  Duration within{5'000};  // real time, whatever the speed
  // "dummy.com/npu allocatable 63, held 2", for people.
  std::string Text() const;
};

using Action = std::variant<Say, RunPod, EndPod, EndAll, RestartContainer, Fault, ChangeHardware,
                            SetCordon, MoveKubelet, MoveAgent, Reconfigure, Expect>;

struct Step {
  Duration at{};           // not before, in the scenario's time
  bool unhurried = false;  // `at` is real time, whatever the speed
  int line = 0;            // where it stands in the file
  Action action;
};

struct Scenario {
  std::string name;  // the file, for messages
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

// Everything wrong with the file is found at once. Bursts and the ends of pods that were given a
// time to live become steps of their own; `seed` decides their jitter.
ReadScenario ParseScenario(config::Document document);

// The flags that override what a configuration says of paths: name without dashes -> value.
// Everything the agent touches is then below `directory`.
std::map<std::string, std::string> AgentFlags(const std::string& directory);
// Reads the text of a configuration that stands in the scenario below `node`. Its problems are
// reported at their place in the scenario. With `broken` it is a problem if there are none.
AgentConfig ReadAgentConfig(config::Document& scenario, const config::Node& node,
                            const std::string& path, bool broken);

}  // namespace tessera::demo
