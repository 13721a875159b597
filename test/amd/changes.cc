// SPDX-License-Identifier: Apache-2.0
#include "amd/changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace tessera::amd {
namespace {

struct Change {
  const char* name;
  const char* arguments;
  size_t count;
  void (*apply)(AmdNode& node, const Words& words);
};

uint64_t Number(const std::string& word) {
  uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end) throw BadChange("not a number: '" + word + "'");
  return number;
}

int Small(const std::string& word) {
  const uint64_t number = Number(word);
  if (number > 1000) throw BadChange("too large: " + word);
  return static_cast<int>(number);
}

constexpr auto kChanges = std::to_array<Change>({
    {"compute", "GPU MODE", 2, [](auto& node, auto& w) { node.SetCompute(Number(w[1]), w[2]); }},
    {"memory", "MODE", 1, [](auto& node, auto& w) { node.SetMemoryMode(w[1]); }},
    {"lose", "GPU", 1, [](auto& node, auto& w) { node.Lose(Number(w[1])); }},
    {"unplug", "GPU", 1, [](auto& node, auto& w) { node.Unplug(Number(w[1])); }},
    {"return", "GPU", 1, [](auto& node, auto& w) { node.Return(Number(w[1])); }},
    {"ras", "GPU BLOCK UNCORRECTED CORRECTED", 4,
     [](auto& node, auto& w) { node.SetRas(Number(w[1]), w[2], Number(w[3]), Number(w[4])); }},
    {"begin-reset", "GPU", 1, [](auto& node, auto& w) { node.BeginReset(Number(w[1])); }},
    {"end-reset", "GPU", 1, [](auto& node, auto& w) { node.EndReset(Number(w[1])); }},
    {"event", "GPU NUMBER PAYLOAD", 3,
     [](auto& node, auto& w) { node.TellEvent(Number(w[1]), w[2] + " " + w[3]); }},
    {"busy", "GPU PERCENT", 2,
     [](auto& node, auto& w) { node.SetBusy(Number(w[1]), Small(w[2])); }},
    {"used", "GPU BYTES", 2,
     [](auto& node, auto& w) { node.SetMemoryUsed(Number(w[1]), Number(w[2])); }},
    {"temperature", "GPU CELSIUS", 2,
     [](auto& node, auto& w) { node.SetTemperature(Number(w[1]), Small(w[2])); }},
    {"driver", "GPU NAME", 2, [](auto& node, auto& w) { node.SetDriver(Number(w[1]), w[2]); }},
    {"remove-driver", "", 0, [](auto& node, auto&) { node.RemoveDriver(); }},
    {"install-driver", "", 0, [](auto& node, auto&) { node.InstallDriver(); }},
});

const Change& Find(const std::string& name) {
  const auto found =
      std::ranges::find_if(kChanges, [&](const Change& change) { return change.name == name; });
  if (found == kChanges.end()) throw BadChange("there is no change '" + name + "'");
  return *found;
}

}  // namespace

std::string ChangesUsage() {
  std::string text;
  for (const Change& change : kChanges) {
    text += fmt::format("  {}{}{}\n", change.name, change.count == 0 ? "" : " ", change.arguments);
  }
  return text;
}

std::vector<Words> ParseChanges(const Words& words) {
  if (std::ranges::count(words, "") > 0) throw BadChange("an argument is empty");
  std::vector<Words> changes;
  for (size_t at = 0; at < words.size();) {
    const Change& change = Find(words[at]);
    if (words.size() - at - 1 < change.count) {
      throw BadChange(fmt::format("{} needs {}", change.name, change.arguments));
    }
    const size_t end = at + 1 + change.count;
    changes.emplace_back(words.begin() + static_cast<ptrdiff_t>(at),
                         words.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  return changes;
}

void Apply(AmdNode& node, const Words& change) {
  Find(change.front()).apply(node, change);
}

}  // namespace tessera::amd
