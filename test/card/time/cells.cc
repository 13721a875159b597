// SPDX-License-Identifier: Apache-2.0
#include "card/time/cells.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tessera::card {
namespace {

// One process: short kernels, and those that are long beside a time slice; two containers; four
// processes.
constexpr char kDefault[] =
    "0x1@200 30x1@200 50x1@200 90x1@200 10x1@200 "
    "0x1@2000 30x1@2000 50x1@2000 90x1@2000 10x1@2000 "
    "0:0@2000 30:60+agent@2000 10:80+agent@2000 10:90+agent@2000 "
    "0x4@2000 30x4@2000 30:60@2000 "
    "0x1@50000 30x1@50000 50x1@50000 90x1@50000 10x1@50000 "
    "0:0@50000 30:60+agent@50000 10:80+agent@50000 10:90+agent@50000 "
    "0x1@20 30x1@20 50x1@20 90x1@20 10x1@20 "
    "0:0@200 30:60+agent@200 10:90+agent@200 0x4@200 30x4@200 "
    "0x4@50000 30x4@50000 10:90@2000 10:80@2000 ";
constexpr char kRest[] =
    "10:80+agent@200 10x4@200 50x4@200 90x4@200 10x4@2000 50x4@2000 90x4@2000 "
    "10x4@50000 50x4@50000 90x4@50000 0x4@20 10x4@20 30x4@20 50x4@20 90x4@20 "
    "30:60@200 10:80@200 10:90@200 30:60@50000 10:80@50000 10:90@50000 "
    "0:0@20 30:60@20 10:80@20 10:90@20 30:60+agent@20 10:80+agent@20 10:90+agent@20 ";

void Add(std::string_view name, std::vector<Cell>* cells) {
  const auto is_it = [&](const Cell& cell) { return cell.name == name; };
  if (std::any_of(cells->begin(), cells->end(), is_it)) return;
  const Cell cell = *CellNamed(name);
  for (const Container& container : cell.containers) {
    if (container.percent > 0) Add(LoadWithout(container, cell.us), cells);
  }
  cells->push_back(cell);
}

}  // namespace

std::optional<Cell> CellNamed(std::string_view name) {
  Cell cell;
  cell.name = name;
  const size_t at = name.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kAgent = "+agent";
  std::string_view load = name.substr(0, at);
  cell.agent = load.ends_with(kAgent);
  if (cell.agent) load.remove_suffix(kAgent.size());
  std::istringstream stream{std::string(load)};
  size_t processes = 0;
  for (std::string word; std::getline(stream, word, ':');) {
    Container container;
    const int read = std::sscanf(word.c_str(), "%3dx%2d", &container.percent, &container.processes);
    if (read < 1 || container.percent < 0 || container.percent > 100 || container.processes < 1) {
      return std::nullopt;
    }
    processes += static_cast<size_t>(container.processes);
    cell.containers.push_back(container);
  }
  unsigned us = 0;
  if (std::sscanf(cell.name.c_str() + at, "@%7u", &us) != 1 || us == 0) return std::nullopt;
  cell.us = us;
  if (processes == 0 || processes > kMostProcesses) return std::nullopt;
  return cell;
}

std::string LoadWithout(const Container& container, uint64_t us) {
  return "0x" + std::to_string(container.processes) + "@" + std::to_string(us);
}

std::vector<Cell> Choose(const std::string& words, std::vector<std::string>* unknown) {
  std::vector<Cell> cells;
  std::istringstream stream(words.empty() ? kDefault : words);
  for (std::string word; stream >> word;) {
    if (word == "default" || word == "all" || word == "rest") {
      const std::string names = word == "rest" ? "" : kDefault;
      for (const Cell& cell : Choose(names + (word == "default" ? "" : kRest), unknown)) {
        Add(cell.name, &cells);
      }
    } else if (CellNamed(word)) {
      Add(word, &cells);
    } else {
      unknown->push_back(word);
    }
  }
  return cells;
}

double DoneAt(const std::vector<Mark>& marks, uint64_t at) {
  const auto after = std::upper_bound(marks.begin(), marks.end(), at,
                                      [](uint64_t t, const Mark& mark) { return t < mark.at; });
  if (after == marks.begin()) return 0;
  const Mark& before = after[-1];
  if (after == marks.end()) return static_cast<double>(before.done);
  const double part =
      static_cast<double>(at - before.at) / static_cast<double>(after->at - before.at);
  return static_cast<double>(before.done) + part * static_cast<double>(after->done - before.done);
}

limiter::Windows SharesOf(const std::vector<std::vector<Mark>>& processes, uint64_t kernel_ns,
                          uint64_t from, uint64_t window_ns, int windows) {
  limiter::Windows shares;
  for (int i = 0; i < windows; ++i, from += window_ns) {
    double done = 0;
    for (const auto& marks : processes)
      done += DoneAt(marks, from + window_ns) - DoneAt(marks, from);
    shares.push_back(done * static_cast<double>(kernel_ns) / static_cast<double>(window_ns) * 100);
  }
  return shares;
}

}  // namespace tessera::card
