// SPDX-License-Identifier: Apache-2.0
// Events: what happened, as one sentence each, for the list under the picture, the plain lines and
// the JSON lines. Pure; plain data; one thread.
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

// What an event means for the node: how it is shown.
enum class Tone : uint8_t { kStory, kPlain, kGood, kBad, kWarning, kBroken };

struct Event {
  Duration at{};
  Tone tone = Tone::kPlain;
  std::string name{};      // stable, for JSON: "pod-admitted"
  std::string text{};      // for people
  json::Object details{};  // for JSON
  bool quiet = false;      // for JSON only
};

// Turns observations into events. Keeps only what it needs to leave out what says nothing new.
class Narrator {
 public:
  std::vector<Event> Tell(const Observation& observation);
  // A broken law.
  static Event Tell(Duration at, const Breach& breach);

 private:
  void Of(const Said& said);
  void Of(const KubeletTold& told);
  void Of(const KubeletMoved& moved);
  void Of(const AgentMoved& moved);
  void Of(const PodTried& tried);
  void Of(const PodEnded& ended);
  void Of(const ContainerRestarted& restarted);
  void Of(const FaultMade& made);
  void Of(const HardwareMade& made);
  void Of(const CordonMade& made);
  void Of(const Refused& refused);
  void Of(const Configured& configured);
  void Of(const LimitsRead& read);
  void Of(const LedgerRead& read);
  void Of(const InventoryRead& read);
  void Of(const Waiting& waiting);
  void Of(const Expected& expected);
  // The resources whose numbers are not what was last told.
  void Counts(const std::vector<kubelet::ResourceStatus>& resources);
  Event& Add(Tone tone, std::string name, std::string_view text);

  Duration at_{};
  std::vector<Event> events_;                          // of the observation being told
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
// Ids in short: "0-3,7"; more than `limit` runs end in "...".
std::string ShortIds(const std::vector<std::string>& ids, size_t limit = 8);
// Free of line ends and other control characters, for a terminal.
std::string OneLine(std::string_view text);

}  // namespace tessera::demo
