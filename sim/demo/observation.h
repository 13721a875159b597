// SPDX-License-Identifier: Apache-2.0
// The demo's observations as plain values. The laws, the tally, the picture and the events are made
// only from these. Any thread.
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
#include "base/text.h"
#include "ledger/ledger.h"
#include "sim/demo/scenario.h"
#include "sim/kubelet/embedded.h"

namespace tessera::demo {

struct Caption {
  std::string text;
};

// An event of the embedded kubelet.
struct KubeletTold {
  kubelet::KubeletEvent event;
};

// kubelet starts or ends. Its start completes a moment after `up` is noted.
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

// The result of a pod's admission.
struct PodTried {
  kubelet::PodSpec pod;
  kubelet::Admission admission;
  // "resource id" of shares that were Unhealthy in kubelet both just before and just after.
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

// A device or a part of one, such as a MIG device or a virtual function, with its names for people.
struct HardwareDevice {
  std::string index;  // "6", "6:0"; "6:-": a removed MIG device
  std::string id;
  std::string name;    // the model, or the profile of a part
  int64_t memory = 0;  // MiB, of a whole device; 0: unknown
  bool operator==(const HardwareDevice&) const = default;
};

// The hardware appears or changes. Noted before it takes effect.
struct HardwareMade {
  std::optional<ChangeHardware> change;  // null: the hardware at the start
  std::vector<HardwareDevice> devices;   // the devices of the change
};

// The ids of a pair's parts (backend/pair); else the id.
inline std::vector<std::string> PartsOf(const std::string& id) {
  return Split(id, '_');
}

// The known devices by id, removed ones included.
class HardwareNames {
 public:
  void Learn(const std::vector<HardwareDevice>& devices) {
    for (const HardwareDevice& device : devices) known_[device.id] = device;
  }
  // Null: none of these.
  const HardwareDevice* Find(const std::string& id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : &found->second;
  }
  // The name for people: the index; of a pair those of its parts, "0+1"; else the id.
  std::string Of(const std::string& id) const {
    if (const HardwareDevice* device = Find(id)) return device->index;
    std::vector<std::string> names;
    for (const std::string& part : PartsOf(id)) {
      const HardwareDevice* device = Find(part);
      if (device == nullptr) return id;
      names.push_back(device->index);
    }
    return Join(names, "+");
  }

 private:
  std::map<std::string, HardwareDevice> known_;
};

struct CordonMade {
  SetCordon cordon;
};

// A step that failed.
struct Refused {
  std::string what;
  Error error;
};

// The agent's configuration, at the start and at each change. Noted before it takes effect.
struct Configured {
  std::map<std::string, std::string> envs;  // see AgentConfig
  bool first = false;
  bool broken = false;                         // the agent must keep the former one
  std::map<std::string, VirtualGpus> vgpus{};  // see AgentConfig
  std::set<std::string> paired{};              // see AgentConfig
};

// One container's limits on virtual GPUs, as its runtime gets them.
struct ContainerLimits {
  std::string pod;
  std::string container;
  std::string resource;
  std::vector<std::string> ids{};                  // of its shares
  std::map<std::string, std::string> variables{};  // empty: it gets none
};

// The limits of all running containers with virtual GPUs. Init containers have ended.
struct LimitsRead {
  std::vector<ContainerLimits> containers;
};

// The agent's ledger at the end of the play, after some time to settle.
struct LedgerRead {
  std::vector<Holding> holdings;
};

// The agent's states of its devices: (resource, device id) -> state and reason.
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

// The scenario waits for a condition.
struct Waiting {
  std::string text;
};
struct Expected {
  std::string text;
  std::string seen;  // if not met, the actual state
  bool met = true;
  Duration waited{};
};

using What = std::variant<Caption, KubeletTold, KubeletMoved, AgentMoved, PodTried, PodEnded,
                          ContainerRestarted, FaultMade, HardwareMade, CordonMade, Refused,
                          Configured, LimitsRead, LedgerRead, InventoryRead, Waiting, Expected>;

struct Observation {
  Duration at{};  // since the play began, in real time
  What what;
  // kubelet's resources right after; the former ones while kubelet is down.
  std::vector<kubelet::ResourceStatus> resources;
  std::string scenario_line;  // "default.yaml:12"; empty: no step caused it
};

}  // namespace tessera::demo
