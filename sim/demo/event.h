// SPDX-License-Identifier: Apache-2.0
// Events, one sentence each, for the list under the picture, the plain lines and the JSON lines.
// Pure; plain data; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "sim/demo/laws.h"
#include "sim/demo/observation.h"
#include "sim/demo/worth.h"

namespace tessera::demo {

// The effect of an event on the node, which chooses its colour.
enum class Tone : uint8_t { kStory, kPlain, kGood, kBad, kWarning, kBroken };

struct Event {
  Duration at{};
  Tone tone = Tone::kPlain;
  std::string name{};      // stable, for JSON: "pod-admitted"
  std::string text{};      // for people
  json::Object details{};  // for JSON
  bool quiet = false;      // for JSON only
};

// Turns observations into events. Keeps only what it needs to leave out repetitions.
class Narrator {
 public:
  std::vector<Event> EventsOf(const Observation& observation);
  // The event of a broken law.
  static Event EventsOf(Duration at, const Breach& breach);

 private:
  void Narrate(const Caption& said);
  void Narrate(const KubeletTold& told);
  void Narrate(const KubeletMoved& moved);
  void Narrate(const AgentMoved& moved);
  void Narrate(const PodTried& tried);
  void Narrate(const PodEnded& ended);
  void Narrate(const ContainerRestarted& restarted);
  void Narrate(const FaultMade& made);
  void Narrate(const HardwareMade& made);
  void Narrate(const CordonMade& made);
  void Narrate(const Refused& refused);
  void Narrate(const Configured& configured);
  void Narrate(const LimitsRead& read);
  void Narrate(const LedgerRead& read);
  void Narrate(const InventoryRead& read);
  void Narrate(const Waiting& waiting);
  void Narrate(const Expected& expected);
  // The resources with changed numbers.
  void NarrateCounts(const std::vector<kubelet::ResourceStatus>& resources);
  Event& Add(Tone tone, std::string name, std::string_view text);

  Duration at_{};
  std::vector<Event> events_;                          // of the current observation
  std::map<std::string, std::pair<int, int>> counts_;  // resource -> capacity, allocatable
  HardwareNames names_;
  Worth worth_;
};

// "00:02.500  pod train runs: dummy.com/npu 0,1", no newline.
std::string PlainLine(const Event& event);
// {"time_ms":2500,"event":"pod-admitted","text":...,...} on one line.
std::string JsonLine(const Event& event);
// "00:02.500".
std::string ClockText(Duration at);
// A short form of ids: "0-3,7"; more than `limit` runs end in "...".
std::string ShortIds(const std::vector<std::string>& ids, size_t limit = 8);
// The text without newlines and other control characters, for a terminal.
std::string OneLine(std::string_view text);

}  // namespace tessera::demo
