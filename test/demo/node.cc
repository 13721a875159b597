// SPDX-License-Identifier: Apache-2.0
// The library of `tessera-sim demo --hardware` for nodes that are files. A description has one or
// more keys of simulators, each with the name of a node. The library keeps it below the node's
// directory. Any thread, but only one for each directory.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "demo/simulator.h"
#include "nvml/yaml.h"
#include "os/files.h"
#include "sim/demo/hardware_api.h"

namespace tessera::demo {

void Unite(Lines& lines, const Lines& more) {
  for (const std::string& line : more) {
    if (std::ranges::count(lines, line) == 0) lines.push_back(line);
  }
}

namespace {

// AMD's comes first: functions of others stay as they are where network cards come next to them.
constexpr std::array<const Simulator*, 3> kSimulators = {&kAmd, &kRdma, &kAscend};

struct Part {
  const Simulator* simulator;
  std::string name;  // of its node
};

std::vector<Part> PartsIn(const std::string& description) {
  const nvml::Yaml yaml = nvml::Yaml::Parse(description);
  yaml.CheckKeys("a node of files", {kAmd.key, kRdma.key, kAscend.key});
  std::vector<Part> parts;
  for (const Simulator* simulator : kSimulators) {
    const nvml::Yaml& name = yaml[simulator->key];
    if (name) parts.push_back({simulator, name.As<std::string>()});
  }
  return parts;
}

std::string DescriptionPath(const std::string& directory) {
  return directory + "/.fake-node";
}

Lines MakeNode(const std::string& directory, const std::string& description, bool only_ask) {
  Lines devices;
  for (const Part& part : PartsIn(description)) {
    Unite(devices, part.simulator->make(directory, part.name, only_ask));
  }
  if (only_ask) return devices;
  const Status written = os::ReplaceFile(DescriptionPath(directory), description, 0644);
  if (!written) throw std::runtime_error(written.error().message);
  return devices;
}

Words WordsOf(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

const Part& PartNamed(const std::vector<Part>& parts, const std::string& key) {
  std::string keys;
  for (const Part& part : parts) {
    if (part.simulator->key == key) return part;
    keys += fmt::format("{}{}", keys.empty() ? "" : " or ", part.simulator->key);
  }
  throw std::runtime_error(fmt::format("'{}' is not {}, with which a change begins", key, keys));
}

// The words for each simulator. With several ones, each line begins with the key of its own.
std::map<const Part*, Words> Divide(const std::string& text, const std::vector<Part>& parts) {
  std::map<const Part*, Words> divided;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Words words = WordsOf(line);
    if (words.empty()) continue;
    const bool is_one = parts.size() == 1;
    Words& all = divided[is_one ? &parts.front() : &PartNamed(parts, words.front())];
    all.insert(all.end(), words.begin() + (is_one ? 0 : 1), words.end());
  }
  return divided;
}

Lines Change(const std::string& directory, const std::string& text, bool only_ask) {
  const Result<std::string> description = os::ReadFile(DescriptionPath(directory));
  if (!description) throw std::runtime_error(description.error().message);
  const std::vector<Part> parts = PartsIn(*description);
  const std::map<const Part*, Words> changes = Divide(text, parts);
  if (changes.empty()) throw std::runtime_error("a change is missing, such as 'lose 3'");
  Lines touched;
  for (const auto& [part, words] : changes) {
    Unite(touched, part->simulator->change(directory, words, true));
  }
  if (only_ask) return touched;
  for (const auto& [part, words] : changes) part->simulator->change(directory, words, false);
  return touched;
}

}  // namespace
}  // namespace tessera::demo

using namespace tessera::demo;  // NOLINT(google-build-using-namespace)

extern "C" {

#pragma GCC visibility push(default)
// NOLINTBEGIN(readability-identifier-naming): names of C functions

bool tesseraMakeNode(const char* directory, const char* text, bool only_ask, const char** answer) {
  return Answer([&] { return MakeNode(directory, text, only_ask); }, answer);
}

bool tesseraSetFaults(const char* directory, const char* text, bool only_ask, const char** answer) {
  return Answer([&] { return Change(directory, text, only_ask); }, answer);
}

bool tesseraSetMig(const char* /*directory*/, const char* /*text*/, bool /*only_ask*/,
                   const char** answer) {
  *answer = "only NVIDIA GPUs have MIG devices; AMD GPUs are divided by hardware: compute 0 CPX";
  return false;
}

// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop

}  // extern "C"

static_assert(std::is_same_v<decltype(tesseraMakeNode), HardwareCall>);
static_assert(std::is_same_v<decltype(tesseraSetFaults), HardwareCall>);
static_assert(std::is_same_v<decltype(tesseraSetMig), HardwareCall>);
