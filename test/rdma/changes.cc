// SPDX-License-Identifier: Apache-2.0
#include "rdma/changes.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "os/files.h"

namespace tessera::rdma {
namespace {

struct Change {
  const char* name;
  const char* arguments;
  size_t count;
  void (*apply)(RdmaNode& node, const Words& words);
};

int Small(const std::string& word) {
  int number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number < 0 || number > 100'000) {
    throw BadChange("not a number: '" + word + "'");
  }
  return number;
}

bool Switch(const std::string& word) {
  if (word != "on" && word != "off") throw BadChange("neither on nor off: '" + word + "'");
  return word == "on";
}

std::string DriverOf(const std::string& word) {
  return word == "none" ? "" : word;
}

constexpr auto kChanges = std::to_array<Change>({
    {"cable", "ADDRESS on|off", 2, [](auto& node, auto& w) { node.SetCable(w[1], Switch(w[2])); }},
    {"subnet-manager", "on|off", 1,
     [](auto& node, auto& w) { node.SetSubnetManager(Switch(w[1])); }},
    {"up", "ADDRESS on|off", 2, [](auto& node, auto& w) { node.SetUp(w[1], Switch(w[2])); }},
    {"away", "ADDRESS on|off", 2, [](auto& node, auto& w) { node.SetAway(w[1], Switch(w[2])); }},
    {"driver", "ADDRESS NAME|none", 2,
     [](auto& node, auto& w) { node.SetDriver(w[1], DriverOf(w[2])); }},
    {"vfs", "ADDRESS COUNT", 2, [](auto& node, auto& w) { node.SetVfs(w[1], Small(w[2])); }},
    {"bond", "ADDRESS ADDRESS", 2, [](auto& node, auto& w) { node.Bond(w[1], w[2]); }},
    {"unbond", "ADDRESS", 1, [](auto& node, auto& w) { node.Unbond(w[1]); }},
    {"unload", "", 0, [](auto& node, auto&) { node.UnloadDriver(); }},
    {"load", "", 0, [](auto& node, auto&) { node.LoadDriver(); }},
    {"lose", "ADDRESS", 1, [](auto& node, auto& w) { node.Lose(w[1]); }},
    {"unplug", "ADDRESS", 1, [](auto& node, auto& w) { node.Unplug(w[1]); }},
    {"return", "ADDRESS", 1, [](auto& node, auto& w) { node.Return(w[1]); }},
    {"fatal", "ADDRESS COUNT", 2,
     [](auto& node, auto& w) { node.SetFatalErrors(w[1], Small(w[2])); }},
    {"link-downed", "ADDRESS COUNT", 2,
     [](auto& node, auto& w) { node.SetLinkDowned(w[1], Small(w[2])); }},
    {"exclusive", "on|off", 1, [](auto& node, auto& w) { node.SetExclusive(Switch(w[1])); }},
});

const Change& FindChange(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kChanges, [&](const Change& change) { return change.name == name; });
  if (found == kChanges.end()) throw BadChange("there is no change '" + name + "'");
  return *found;
}

void Apply(RdmaNode& node, const Words& change) {
  FindChange(change.front()).apply(node, change);
}

struct Record {
  std::string name;
  std::vector<Words> changes;
};

// The file with the name, then the changes, one a line.
std::string RecordIn(const std::string& directory) {
  return directory + "/.rdma-node";
}

void WriteRecord(const std::string& directory, const Record& record) {
  std::string text = record.name + "\n";
  for (const Words& change : record.changes) text += fmt::format("{}\n", fmt::join(change, " "));
  const Status written = os::ReplaceFile(RecordIn(directory), text, 0644);
  if (!written) throw std::runtime_error(written.error().message);
}

// Nothing: the directory has no node.
std::optional<Record> ReadRecord(const std::string& directory) {
  if (!os::Exists(RecordIn(directory))) return std::nullopt;
  const Result<std::string> text = os::ReadFile(RecordIn(directory));
  if (!text) throw std::runtime_error(text.error().message);
  std::istringstream lines(*text);
  Record record;
  std::getline(lines, record.name);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    Words& words = record.changes.emplace_back();
    for (std::string word; stream >> word;) words.push_back(word);
  }
  return record;
}

RdmaNode TakeOver(const std::string& directory, const Record& record) {
  return {directory, NamedNode(record.name), [&](RdmaNode& past) {
            for (const Words& change : record.changes) Apply(past, change);
          }};
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
    const Change& change = FindChange(words[at]);
    if (words.size() - at - 1 < change.count) {
      throw BadChange(fmt::format("{} needs {}", change.name, change.arguments));
    }
    const auto begin = words.begin() + static_cast<ptrdiff_t>(at);
    changes.emplace_back(begin, begin + 1 + static_cast<ptrdiff_t>(change.count));
    at += 1 + change.count;
  }
  return changes;
}

std::string NameIn(const std::string& directory) {
  return ReadRecord(directory).value().name;
}

SimNode NodeAfter(const std::string& directory, const std::vector<Words>& changes) {
  Record record = ReadRecord(directory).value();
  record.changes.insert(record.changes.end(), changes.begin(), changes.end());
  return TakeOver(directory, record).node();
}

void ChangeTree(const std::string& directory, const std::string& name, const Words& words) {
  const std::vector<Words> changes = ParseChanges(words);
  const std::optional<Record> former = ReadRecord(directory);
  Record record = former.value_or(Record{name, {}});
  if (record.name != name) {
    throw BadChange(fmt::format("{} has the node {}", directory, record.name));
  }
  RdmaNode node = former ? TakeOver(directory, record) : RdmaNode(directory, NamedNode(name));
  WriteRecord(directory, record);
  for (const Words& change : changes) {
    Apply(node, change);
    record.changes.push_back(change);
    WriteRecord(directory, record);
  }
}

}  // namespace tessera::rdma
