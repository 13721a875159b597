// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/command/fields.h"
#include "cli/room_view.h"

namespace tessera::cli {
namespace {

// The state in one word. An absence or a cordon counts before health. A released device is
// unverified, but the release is the better word.
std::string StateOf(const json::Object& device) {
  if (json::GetObject(device, "cordon") != nullptr) return "cordoned";
  std::string state = TextIn(device, "state");
  bool well = state == "healthy" || state == "suspect";
  std::string reason = TextIn(device, "reason");
  const bool out = well && !IsTrue(device, "offered") && !reason.empty();
  return out || reason == "released" ? reason : state;
}

Tone ToneOf(std::string_view state) {
  if (state == "healthy") return Tone::kGood;
  bool bad = state == "unhealthy" || state == "vanished" || state == "unreadable";
  return bad ? Tone::kBad : Tone::kWarning;
}

// Why the device is not offered.
std::string WhyOf(const json::Object& device) {
  if (const json::Object* cordon = json::GetObject(device, "cordon")) {
    return TextIn(*cordon, "reason");
  }
  std::string reason = TextIn(device, "reason");
  std::string detail = TextIn(device, "detail");
  if (reason.empty() || detail.empty()) return reason + detail;
  return reason == StateOf(device) ? detail : reason + ": " + detail;
}

// A pod with several containers appears once, if containers are not named.
std::string HoldersOf(const json::Object& device, Detail detail, const View& view) {
  constexpr size_t kLongestName = 40;
  std::vector<std::string> holders;
  for (const json::Object* holder : ObjectsIn(device, "holders")) {
    std::string text = Shortened(PodName(*holder), view);
    if (detail == Detail::kUsual && view.columns > 0) text = ElideMiddle(text, kLongestName);
    if (detail == Detail::kWide) {
      text += fmt::format("/{} ({})", TextIn(*holder, "container"),
                          Join(ListIn(*holder, "shares"), " "));
    }
    if (std::ranges::count(holders, text) == 0) holders.push_back(std::move(text));
  }
  return Join(holders, ", ");
}

std::string Head(const json::Object& inventory) {
  const json::Object* agent = json::GetObject(inventory, "agent");
  std::string version = agent == nullptr ? "" : TextIn(*agent, "version");
  return fmt::format("node {}, agent {}, inventory {}\n", TextIn(inventory, "node"), version,
                     TextIn(inventory, "generation"));
}

std::string Resources(const json::Object& inventory, Detail detail, const View& view) {
  std::vector<Column> columns = {{"RESOURCE", false, Cut::kMiddle},
                                 {"POLICY"},
                                 {"CAPACITY", true},
                                 {"ALLOCATABLE", true},
                                 {"HELD", true},
                                 {"KUBELET"}};
  bool wide = detail == Detail::kWide;
  if (wide) columns.insert(columns.end(), {{"LIST BYTES", true}, {"PATH"}, {"SOCKET"}});
  std::vector<std::vector<Cell>> rows;
  for (const json::Object* resource : ObjectsIn(inventory, "resources")) {
    std::string state = TextIn(*resource, "state");
    rows.push_back({{TextIn(*resource, "name")},
                    {TextIn(*resource, "policy")},
                    {TextIn(*resource, "capacity")},
                    {TextIn(*resource, "allocatable")},
                    {TextIn(*resource, "held")},
                    {state, state == "streaming" ? Tone::kGood : Tone::kWarning}});
    if (!wide) continue;
    for (const char* key : {"listBytes", "registration", "socket"}) {
      rows.back().push_back({TextIn(*resource, key)});
    }
  }
  return rows.empty() ? "no resources are configured\n" : Table(columns, rows, view);
}

std::string DevicesUsual(const json::Object& inventory, const View& view) {
  std::vector<Column> columns = {{"DEVICE", false, Cut::kMiddle},
                                 {"STATE"},
                                 {"NUMA"},
                                 {"HELD BY", false, Cut::kEnd},
                                 {"WHY", false, Cut::kEnd}};
  std::vector<std::vector<Cell>> rows;
  for (const json::Object* device : ObjectsIn(inventory, "devices")) {
    std::string state = StateOf(*device);
    rows.push_back({{Shortened(DeviceName(*device), view)},
                    {state, ToneOf(state)},
                    {Join(ListIn(*device, "numaNodes"), ",")},
                    {HoldersOf(*device, Detail::kUsual, view)},
                    {WhyOf(*device)}});
  }
  return rows.empty() ? "" : "\n" + Table(columns, rows, view);
}

std::string DevicesWide(const json::Object& inventory, const View& view) {
  std::vector<Column> columns = {{"DEVICE"},
                                 {"MODEL"},
                                 {"ADDRESS"},
                                 {"VISIBLE AS"},
                                 {"STATE"},
                                 {"SINCE"},
                                 {"OFFERED"},
                                 {"NUMA"},
                                 {"SHARES", false, Cut::kEnd},
                                 {"HELD BY", false, Cut::kEnd},
                                 {"WHY", false, Cut::kEnd}};
  std::vector<std::vector<Cell>> rows;
  for (const json::Object* device : ObjectsIn(inventory, "devices")) {
    std::string state = StateOf(*device);
    rows.push_back({{DeviceName(*device)},
                    {TextIn(*device, "model")},
                    {TextIn(*device, "address")},
                    {TextIn(*device, "visibleAs")},
                    {state, ToneOf(state)},
                    {TextIn(*device, "since")},
                    {IsTrue(*device, "offered") ? "yes" : "no"},
                    {Join(ListIn(*device, "numaNodes"), ",")},
                    {Join(ListIn(*device, "shares"), " ")},
                    {HoldersOf(*device, Detail::kWide, view)},
                    {WhyOf(*device)}});
  }
  return rows.empty() ? "" : "\n" + Table(columns, rows, view);
}

// "64 devices: 1 cordoned, 62 healthy, 1 unhealthy", for long lists.
std::string Sum(const json::Object& inventory) {
  std::map<std::string, size_t> states;
  size_t all = 0;
  for (const json::Object* device : ObjectsIn(inventory, "devices")) {
    ++states[StateOf(*device)];
    ++all;
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : states) parts.push_back(fmt::format("{} {}", count, state));
  return fmt::format("\n{}{}{}\n", Count(all, "device"), all > 0 ? ": " : "", Join(parts, ", "));
}

// Notes on the limits of the tables.
std::string Notes(const json::Object& inventory, const json::Object& ledger, const View& view) {
  std::string out;
  auto note = [&](const std::string& text) { out += Note(Shortened(text, view), view); };
  for (const json::Object* resource : ObjectsIn(inventory, "resources")) {
    if (const json::Object* waiting = json::GetObject(*resource, "waiting")) {
      const auto devices = static_cast<size_t>(json::GetInt(*waiting, "devices").value_or(0));
      note(fmt::format("{}: {} not yet divided as configured ({}): a container may hold a share",
                       TextIn(*resource, "name"), Count(devices, "device"),
                       TextIn(*waiting, "policy")));
    }
    std::string error = TextIn(*resource, "error");
    if (!error.empty()) note(error);
  }
  const json::Object* agent = json::GetObject(inventory, "agent");
  if (agent != nullptr && !json::GetBool(*agent, "writer").value_or(true)) {
    note("another instance writes the state; this one serves from memory");
  }
  bool known = json::GetBool(ledger, "reconciled").value_or(true);
  std::string source = TextIn(ledger, "podResources");
  if (!source.empty() && source != "ok") {
    note((known ? "the holders may be out of date: " : "the holders are not known yet: ") + source);
  } else if (!known) {
    note("kubelet has not reported the holders yet");
  }
  for (const json::Object* pending : ObjectsIn(ledger, "pending")) {
    note(fmt::format("granted {} s ago and not yet confirmed by kubelet: {} {}",
                     TextIn(*pending, "ageSeconds"), TextIn(*pending, "resource"),
                     Join(ListIn(*pending, "shares"), " ")));
  }
  return out;
}

}  // namespace

std::string DevicesText(const json::Value& inventory, const json::Value& ledger, Detail detail,
                        const View& view) {
  const json::Object& all = ObjectOf(inventory);
  std::string devices = detail == Detail::kWide ? DevicesWide(all, view) : DevicesUsual(all, view);
  const std::string room = RoomText(all, view);
  return Head(all) + "\n" + Resources(all, detail, view) + devices +
         (room.empty() ? "" : "\n" + room) + Sum(all) + Notes(all, ObjectOf(ledger), view);
}

}  // namespace tessera::cli
