// SPDX-License-Identifier: Apache-2.0
#include "ascend/description.h"

#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace tessera::ascend {
namespace {

using Values = std::map<std::string, std::string>;

Values ValuesOf(std::istream& line) {
  Values values;
  std::string word;
  while (line >> word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) throw BadChange("not a value: '" + word + "'");
    values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return values;
}

template <class N>
N Number(const Values& values, const char* key) {
  const auto at = values.find(key);
  if (at == values.end()) throw BadChange(std::string("there is no ") + key);
  try {
    return static_cast<N>(std::stoll(at->second, nullptr, 0));
  } catch (const std::logic_error&) {
    throw BadChange("not a number: '" + at->second + "'");
  }
}

std::string Text(const Values& values, const char* key) {
  const auto at = values.find(key);
  return at == values.end() ? "" : at->second;
}

template <class Numbers>
std::string Joined(const Numbers& numbers) {
  std::ostringstream text;
  for (const auto number : numbers) text << (text.tellp() > 0 ? "," : "") << number;
  return text.str();
}

std::vector<uint32_t> Numbers(const std::string& text) {
  std::vector<uint32_t> numbers;
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ',')) {
    numbers.push_back(static_cast<uint32_t>(std::stoul(word)));
  }
  return numbers;
}

void Write(std::ostream& text, const SimChip& chip) {
  text << "chip card=" << chip.card << " device=" << chip.device << " logic=" << chip.logic
       << " phy=" << chip.phy << " name=" << chip.name << " version=" << chip.version
       << " cores=" << chip.cores << " die=" << Joined(chip.die) << " address=" << chip.address
       << " pci=" << chip.pci_device << " memory=" << chip.memory << " hbm=" << chip.has_hbm
       << " numa=" << chip.numa << " cpus=" << chip.cpus << " absent=" << chip.absent
       << " health=" << chip.health << " codes=" << Joined(chip.codes) << "\n";
}

SimChip ReadChip(const Values& values) {
  SimChip chip;
  chip.card = Number<int>(values, "card");
  chip.device = Number<int>(values, "device");
  chip.logic = Number<int>(values, "logic");
  chip.phy = Number<int>(values, "phy");
  chip.name = Text(values, "name");
  chip.version = Text(values, "version");
  chip.cores = Number<unsigned>(values, "cores");
  const std::vector<uint32_t> die = Numbers(Text(values, "die"));
  for (size_t i = 0; i < die.size() && i < chip.die.size(); ++i) chip.die[i] = die[i];
  chip.address = Text(values, "address");
  chip.pci_device = Number<uint32_t>(values, "pci");
  chip.memory = Number<uint64_t>(values, "memory");
  chip.has_hbm = Number<int>(values, "hbm") != 0;
  chip.numa = Number<int>(values, "numa");
  chip.cpus = Text(values, "cpus");
  chip.absent = Number<int>(values, "absent") != 0;
  chip.health = Number<uint32_t>(values, "health");
  chip.codes = Numbers(Text(values, "codes"));
  return chip;
}

}  // namespace

std::string TextOf(const SimNode& node) {
  std::ostringstream text;
  text << "node policy=" << node.die_policy << " driver=" << node.driver
       << " chooses=" << node.chooses << "\n";
  for (const SimChip& chip : node.chips) Write(text, chip);
  for (const SimFault& fault : node.faults) {
    text << "fault function=" << fault.function << " card=" << fault.card << " code=" << fault.code
         << "\n";
  }
  for (const SimEvent& event : node.events) {
    text << "event id=" << event.id << " logic=" << event.logic << " severity=" << event.severity
         << " assertion=" << event.assertion << "\n";
  }
  return text.str();
}

SimNode ParseNode(const std::string& text) {
  SimNode node;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    const Values values = ValuesOf(words);
    if (what == "node") {
      node.die_policy = Number<int>(values, "policy");
      node.driver = Text(values, "driver");
      node.chooses = Number<int>(values, "chooses") != 0;
    } else if (what == "chip") {
      node.chips.push_back(ReadChip(values));
    } else if (what == "fault") {
      node.faults.push_back(
          {Text(values, "function"), Number<int>(values, "card"), Number<int>(values, "code")});
    } else if (what == "event") {
      node.events.push_back({Number<uint32_t>(values, "id"), Number<int>(values, "logic"),
                             Number<int>(values, "severity"), Number<int>(values, "assertion")});
    } else {
      throw BadChange("there is no '" + what + "'");
    }
  }
  return node;
}

std::string TextOf(const SimVnpu& vnpu) {
  std::ostringstream text;
  text << "id=" << vnpu.id << " phy=" << vnpu.phy << " name=" << vnpu.name << " used=" << vnpu.used
       << "\n";
  return text.str();
}

SimVnpu ReadVnpu(const std::string& path) {
  std::istringstream text(ReadText(path));
  const Values values = ValuesOf(text);
  return {Number<uint32_t>(values, "id"), Number<int>(values, "phy"), Text(values, "name"),
          Number<int>(values, "used") != 0};
}

unsigned CoresOf(const std::string& name) {
  unsigned cores = 0;
  if (!name.starts_with("vir")) return 0;
  for (size_t i = 3; i < name.size() && isdigit(static_cast<unsigned char>(name[i])) != 0; ++i) {
    cores = cores * 10 + static_cast<unsigned>(name[i] - '0');
  }
  return cores;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) {
  const std::string next = path + ".next" + std::to_string(getpid());
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(next, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + next);
  std::filesystem::rename(next, path);
}

}  // namespace tessera::ascend
