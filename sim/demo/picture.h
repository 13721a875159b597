// SPDX-License-Identifier: Apache-2.0
// The data of the live view, updated by observations. Plain data, pure; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/demo/event.h"
#include "sim/demo/observation.h"
#include "sim/demo/worth.h"

namespace tessera::demo {

enum class TileState : uint8_t {
  kFree,
  kHeld,
  kSuspect,  // still offered, but a check failed
  kUnhealthy,
  kCordoned,
  kUnknown,  // kubelet or the agent is away, so its state is unknown
};

// One share of a device.
struct Cell {
  std::string pod;  // empty: free
  bool operator==(const Cell&) const = default;
};

// One device.
struct Tile {
  std::string id{};
  std::string label{};  // its name for people: "7", a GPU's index
  TileState state = TileState::kUnknown;
  std::string why{};          // "check-failed", "recovering"; empty: no reason
  std::vector<Cell> cells{};  // one for a whole device, else one for each replica
  Duration changed{};         // the time of its last change
  // For a GPU with virtual ones.
  int64_t memory = 0;           // MiB; 0: it has none
  std::vector<PodUse> taken{};  // by pod

  int held() const;
};

// One resource.
struct Panel {
  std::string name{};
  int capacity = 0;
  int allocatable = 0;
  int held = 0;  // shares
  bool connected = false;
  std::string model{};        // of all its GPUs; empty: they differ, or there are none
  std::vector<Tile> tiles{};  // natural order
};

struct Picture {
  static constexpr size_t kEvents = 200;

  // Set once.
  std::string title;
  std::string kubelet_version;  // "1.36"
  Duration length{};            // the scenario's length without waits

  Duration now{};
  std::string story;    // the last sentence
  std::string waiting;  // the scenario's current wait; empty: none
  bool kubelet_up = false;
  std::vector<pid_t> agents;  // running, oldest first
  std::vector<Panel> panels;
  std::deque<Event> events;  // newest last
  int pods = 0;              // running
  int refused = 0;
  int checks = 0;  // of laws
  int broken = 0;  // laws

  void Update(const Observation& observation);
  void Add(const Event& event);

  Judgements judgements;  // the agent's last states of its devices

 private:
  HardwareNames names_;
  Worth worth_;

  void UpdatePanels(const std::vector<kubelet::ResourceStatus>& resources);
  Panel PanelOf(const kubelet::ResourceStatus& resource) const;
  void Judge(const std::string& resource, bool connected, bool healthy, Tile& tile) const;
};

}  // namespace tessera::demo
