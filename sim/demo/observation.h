// SPDX-License-Identifier: Apache-2.0
// What the demo sees happen, as plain values. The laws, the tally, the picture and the list of
// events are all made from these and nothing else. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "ledger/ledger.h"
#include "sim/demo/scenario.h"
#include "sim/kubelet/embedded.h"

namespace tessera::demo {

struct Caption {
  std::string text;
};

// kubelet told of something.
struct KubeletTold {
  kubelet::KubeletEvent event;
};

// kubelet starts or ends. It has started a moment after `up` is noted.
struct KubeletMoved {
  bool up = false;
  std::string how;  // "started", "killed with SIGKILL", "stopped"
};

struct AgentMoved {
  pid_t pid = 0;
  bool up = false;
  bool wanted = true;  // false: it ended by itself
  std::string how;     // "started", "killed with SIGKILL", "stopped with SIGTERM", "ended with 1"
};

// What kubelet made of a pod.
struct PodTried {
  kubelet::PodSpec pod;
  kubelet::Admission admission;
  // "resource id" of the shares kubelet saw Unhealthy both just before and just after.
  std::set<std::string> sick;
};

struct PodEnded {
  std::string pod;
};

struct ContainerRestarted {
  std::string pod;
  std::string container;
  std::optional<Error> error;
};

// Noted before the fault takes effect.
struct FaultMade {
  Fault fault;
};

// A GPU or MIG device of the NVIDIA hardware, as people call it.
struct HardwareDevice {
  std::string index;  // "6", "6:0"; "6:-": a MIG device that goes
  std::string id;
  std::string name;    // the model, or the MIG profile
  int64_t memory = 0;  // MiB, of a GPU; 0: not known
  bool operator==(const HardwareDevice&) const = default;
};

// The NVIDIA hardware is there, or changes. Noted before it takes effect.
struct HardwareMade {
  std::optional<ChangeHardware> change;  // nothing: this is the hardware at the start
  std::vector<HardwareDevice> devices;   // that it is about
};

// What is known of the devices, by id. Those that went are in it as well.
class HardwareNames {
 public:
  void Learn(const std::vector<HardwareDevice>& devices) {
    for (const HardwareDevice& device : devices) known_[device.id] = device;
  }
  // Null for one that is not NVIDIA hardware.
  const HardwareDevice* Find(const std::string& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : &found->second;
  }
  // What people call it: the index, else the id.
  const std::string& Of(const std::string& id) const {
    const HardwareDevice* device = Find(id);
    return device == nullptr ? id : device->index;
  }

 private:
  std::map<std::string, HardwareDevice> known_;
};

struct CordonMade {
  SetCordon cordon;
};

// Something the scenario asked for could not be done.
struct Refused {
  std::string what;
  Error error;
};

// The agent's configuration, at the start and whenever it changes. Noted before it takes effect.
struct Configured {
  std::map<std::string, std::string> envs;  // see AgentConfig
  bool first = false;
  bool broken = false;                         // the agent must keep what it had
  std::map<std::string, VirtualGpus> vgpus{};  // see AgentConfig
};

// What one container may use of virtual GPUs, as its runtime is told.
struct ContainerLimits {
  std::string pod;
  std::string container;
  std::string resource;
  std::vector<std::string> ids{};                  // of the shares that it holds
  std::map<std::string, std::string> variables{};  // empty: it is told nothing
};

// The limits of all running containers that hold virtual GPUs; init containers are over.
struct LimitsRead {
  std::vector<ContainerLimits> containers;
};

// The agent's ledger once the play is over, when it had time to settle.
struct LedgerRead {
  std::vector<Holding> holdings;
};

// What the agent thinks of its devices: (resource, device id) -> state and why.
struct DeviceJudged {
  std::string state;   // "healthy", "suspect", ...
  std::string reason;  // stable name of the reason; empty when healthy
  bool cordoned = false;
  bool operator==(const DeviceJudged&) const = default;
};
using Judgements = std::map<std::pair<std::string, std::string>, DeviceJudged>;
struct InventoryRead {
  Judgements devices;
};

// The scenario waits until something is true.
struct Waiting {
  std::string text;
};
struct Expected {
  std::string text;
  std::string seen;  // what was there instead, when not met
  bool met = true;
  Duration waited{};
};

using What = std::variant<Caption, KubeletTold, KubeletMoved, AgentMoved, PodTried, PodEnded,
                          ContainerRestarted, FaultMade, HardwareMade, CordonMade, Refused,
                          Configured, LimitsRead, LedgerRead, InventoryRead, Waiting, Expected>;

struct Observation {
  Duration at{};  // since the play began, real time
  What what;
  // kubelet's resources right after; kept from before while kubelet is down.
  std::vector<kubelet::ResourceStatus> resources;
  std::string scenario_line;  // "default.yaml:12", empty when no step is behind it
};

}  // namespace tessera::demo
