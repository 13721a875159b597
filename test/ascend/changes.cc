// SPDX-License-Identifier: Apache-2.0
#include "ascend/changes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace tessera::ascend {
namespace {

struct Change {
  const char* name;
  const char* arguments;
  size_t count;
  void (*apply)(AscendNode& node, const Words& words);
};

// Decimal, or hexadecimal with 0x.
long long Number(const std::string& word) {
  try {
    size_t end = 0;
    const long long number = std::stoll(word, &end, 0);
    if (end == word.size()) return number;
  } catch (const std::logic_error&) {
  }
  throw BadChange("not a number: '" + word + "'");
}
size_t Place(const std::string& word) {
  return static_cast<size_t>(Number(word));
}
int Small(const std::string& word) {
  return static_cast<int>(Number(word));
}
uint32_t Code(const std::string& word) {
  return static_cast<uint32_t>(Number(word));
}

constexpr auto kChanges = std::to_array<Change>({
    {"health", "CHIP LEVEL CODE|0", 3,
     [](AscendNode& node, const Words& w) {
       const uint32_t code = Code(w[3]);
       node.SetHealth(Place(w[1]), Code(w[2]),
                      code == 0 ? std::vector<uint32_t>() : std::vector<uint32_t>{code});
     }},
    {"tell", "CHIP CODE SEVERITY ASSERTION", 4,
     [](AscendNode& node, const Words& w) {
       node.Tell(Place(w[1]), Code(w[2]), Small(w[3]), Small(w[4]));
     }},
    {"fail", "FUNCTION CARD CODE", 3,
     [](AscendNode& node, const Words& w) { node.Fail(w[1], Small(w[2]), Small(w[3])); }},
    {"mend", "", 0, [](AscendNode& node, const Words&) { node.Mend(); }},
    {"unplug", "CHIP", 1, [](AscendNode& node, const Words& w) { node.Unplug(Place(w[1])); }},
    {"return", "CHIP", 1, [](AscendNode& node, const Words& w) { node.Return(Place(w[1])); }},
    {"make-vnpu", "CHIP ID TEMPLATE", 3,
     [](AscendNode& node, const Words& w) { node.MakeVnpu(Place(w[1]), Code(w[2]), w[3]); }},
    {"destroy-vnpu", "ID", 1,
     [](AscendNode& node, const Words& w) { node.DestroyVnpu(Code(w[1])); }},
    {"remove-driver", "", 0, [](AscendNode& node, const Words&) { node.RemoveDriver(); }},
    {"install-driver", "", 0, [](AscendNode& node, const Words&) { node.InstallDriver(); }},
});

const Change& FindChange(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kChanges, [&](const Change& change) { return name == change.name; });
  if (found == kChanges.end()) throw BadChange("there is no change '" + name + "'");
  return *found;
}

}  // namespace

std::string ChangesUsage() {
  std::string text;
  for (const Change& change : kChanges) {
    text +=
        std::string("  ") + change.name + (change.count == 0 ? "" : " ") + change.arguments + "\n";
  }
  return text;
}

std::vector<Words> ParseChanges(const Words& words) {
  std::vector<Words> changes;
  for (size_t at = 0; at < words.size();) {
    const Change& change = FindChange(words[at]);
    if (words.size() - at - 1 < change.count) {
      throw BadChange(std::string(change.name) + " needs " + change.arguments);
    }
    const auto begin = words.begin() + static_cast<ptrdiff_t>(at);
    changes.emplace_back(begin, begin + 1 + static_cast<ptrdiff_t>(change.count));
    at += 1 + change.count;
  }
  return changes;
}

std::optional<size_t> ChipOf(const Words& change, const SimNode& node) {
  const std::string_view arguments = FindChange(change.front()).arguments;
  if (!arguments.starts_with("CHIP")) return std::nullopt;
  const size_t chip = Place(change[1]);
  if (chip >= node.chips.size()) throw BadChange("there is no chip " + change[1]);
  return chip;
}

void Apply(AscendNode& node, const Words& change) {
  FindChange(change.front()).apply(node, change);
}

}  // namespace tessera::ascend
