// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/ras.h"

#include <fmt/core.h>

#include <utility>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::amd {
namespace {

constexpr Duration kOften{1'000};
constexpr std::string_view kEnding = "_err_count";

}  // namespace

std::optional<uint64_t> ParseUncorrected(std::string_view text) {
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with("ue: ")) return sysfs::Number<uint64_t>(Trim(line.substr(4)));
  }
  return std::nullopt;
}

uint64_t CountFailedPages(std::string_view text) {
  uint64_t count = 0;
  for (const std::string& line : Split(text, '\n')) {
    const size_t colon = line.rfind(':');
    if (colon != std::string::npos && Trim(line.substr(colon + 1)) == "F") ++count;
  }
  return count;
}

RasErrors ReadRas(const os::Root& root, const std::string& address) {
  const std::string directory = root.Path(fmt::format("/sys/bus/pci/devices/{}/ras", address));
  RasErrors errors;
  for (const std::string& name : sysfs::Names(directory)) {
    if (!name.ends_with(kEnding)) continue;
    const auto count = ParseUncorrected(sysfs::Text(directory + "/" + name));
    if (count) errors.emplace(name.substr(0, name.size() - kEnding.size()), *count);
  }
  return errors;
}

std::optional<uint64_t> ReadFailedPages(const os::Root& root, const std::string& address) {
  constexpr size_t kMost = 1 << 20;
  const auto text = os::ReadFile(
      root.Path(fmt::format("/sys/bus/pci/devices/{}/ras/gpu_vram_bad_pages", address)), kMost);
  return text ? std::optional(CountFailedPages(*text)) : std::nullopt;
}

// Failed pages are a state and outlast resets. What cannot be read now is as it was, and a reset is
// known only once something can be read.
RasWatch::Answer RasWatch::Look(const std::string& address) {
  {
    const MutexLock lock(mutex_);
    Watched& gpu = gpus_[address];
    if (gpu.is_known && clock_.Now() - gpu.read_at < kOften) {
      return {.standing = gpu.standing, .failed_pages = gpu.failed_pages};
    }
    gpu.read_at = clock_.Now();
  }
  const RasErrors now = ReadRas(root_, address);
  const auto failed_pages = ReadFailedPages(root_, address);
  const MutexLock lock(mutex_);
  Watched& gpu = gpus_[address];
  gpu.failed_pages = failed_pages.value_or(gpu.failed_pages);
  Answer answer{.failed_pages = gpu.failed_pages};
  if (!now.empty() || gpu.last.empty()) answer.reset = std::exchange(gpu.was_reset, false);
  for (const auto& [block, count] : now) {
    const auto before = gpu.last.find(block);
    const uint64_t known = before == gpu.last.end() ? 0 : before->second;
    if (count < known) answer.reset = true;
    if (count > known) answer.fresh.emplace(block, count - known);
  }
  if (!gpu.is_known || answer.reset) answer.fresh.clear();
  if (answer.reset) gpu.standing.clear();
  gpu.is_known = true;
  for (const auto& [block, count] : now) gpu.last.insert_or_assign(block, count);
  for (const auto& [block, count] : answer.fresh) gpu.standing[block] += count;
  answer.standing = gpu.standing;
  return answer;
}

void RasWatch::WasReset(const std::string& address) {
  const MutexLock lock(mutex_);
  Watched& gpu = gpus_[address];
  gpu.was_reset = true;
  gpu.read_at = {};
}

}  // namespace tessera::amd
