// SPDX-License-Identifier: Apache-2.0
#include "card/time/measure.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "card/row.h"
#include "shares/agent.h"

namespace tessera::card {
namespace {

constexpr uint64_t kWarm = 500'000'000;    // ns
constexpr uint64_t kWindow = 500'000'000;  // ns
constexpr int kWindows = 3;
constexpr uint64_t kLate = 1'000'000'000;  // ns that a last kernel is waited for
constexpr double kReady = 10;              // seconds that contexts may take

std::vector<std::pair<std::string, std::string>> VariablesOf(const Container& container,
                                                             size_t number,
                                                             const Measured& measured,
                                                             const std::string& directory) {
  if (container.percent == 0) return {};
  return {{"LD_PRELOAD", measured.library},
          {"CUDA_DEVICE_MEMORY_SHARED_CACHE", directory + "/" + std::to_string(number) + ".cache"},
          {"CUDA_DEVICE_SM_LIMIT", std::to_string(container.percent)},
          {"GPU_CORE_UTILIZATION_POLICY", "force"},
          {"NVIDIA_VISIBLE_DEVICES", measured.uuid}};
}

void SleepUntil(uint64_t at) {
  for (uint64_t now = Now(); now < at; now = Now()) {
    usleep(static_cast<useconds_t>(std::min<uint64_t>((at - now) / 1000 + 1, 100'000)));
  }
}

// What was done at the end of the last window is known once each process has done more.
void AwaitMarks(const Board& board, size_t processes, uint64_t end) {
  for (size_t i = 0; i < processes; ++i) {
    while (Now() < end + kLate) {
      const std::vector<Mark> marks = board.Marks(i);
      if (!marks.empty() && marks.back().at >= end) break;
      usleep(2000);
    }
  }
}

}  // namespace

std::vector<limiter::Windows> MeasureOnCard(const Cell& cell, const Measured& measured) {
  const Board board;
  const uint64_t ns = cell.us * 1000;
  const auto rounds = static_cast<uint64_t>(static_cast<double>(ns) * measured.rounds_per_ns);
  const std::string directory = measured.directory + "/" + cell.name;
  std::filesystem::create_directories(directory);
  std::vector<BusyProcess> processes;
  for (size_t i = 0; i < cell.containers.size(); ++i) {
    for (int k = 0; k < cell.containers[i].processes; ++k) {
      processes.emplace_back(board, processes.size(), Work{ns, std::max<uint64_t>(rounds, 1)},
                             cell.name, VariablesOf(cell.containers[i], i, measured, directory));
    }
  }
  std::optional<limiter::Agent> agent;
  if (cell.agent) agent.emplace(directory, measured.uuid, cell.containers.size());
  if (!LetGo(board, processes, kReady)) {
    Trouble(cell.name, "a process ended or was not ready in time");
    return {};
  }
  const uint64_t from = Now() + kWarm;
  const uint64_t end = from + kWindows * kWindow;
  SleepUntil(end);
  AwaitMarks(board, processes.size(), end);
  for (BusyProcess& process : processes) {
    if (!process.HasEnded()) continue;
    Trouble(cell.name, "a process ended");
    return {};
  }
  std::vector<limiter::Windows> shares;
  size_t first = 0;
  for (const Container& container : cell.containers) {
    std::vector<std::vector<Mark>> marks;
    for (int k = 0; k < container.processes; ++k) marks.push_back(board.Marks(first++));
    shares.push_back(SharesOf(marks, ns, from, kWindow, kWindows));
  }
  return shares;
}

}  // namespace tessera::card
