// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vnpu_records.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "backend/sysfs.h"
#include "base/mutex.h"
#include "base/text.h"
#include "os/files.h"

namespace tessera::ascend {
namespace {

constexpr std::string_view kSuffix = ".vnpus";
constexpr size_t kMostBytes = 65'536;
constexpr std::array<std::string_view, 4> kStates = {"asked", "made", "undoing", "lost"};

std::optional<OwnVnpu> ParseVnpu(const std::vector<std::string>& words) {
  if (words.size() != 8 || words[0] != "vnpu") return std::nullopt;
  const auto card = sysfs::Number<int>(words[1]);
  const auto device = sysfs::Number<int>(words[2]);
  const auto id = sysfs::Number<uint32_t>(words[3]);
  const auto state = std::ranges::find(kStates, words[7]);
  if (!card || !device || (!id && words[3] != "-") || state == kStates.end()) return std::nullopt;
  return OwnVnpu{.place = {*card, *device},
                 .id = id,
                 .name = words[4],
                 .device = words[5],
                 .pod = words[6],
                 .state = static_cast<VnpuState>(state - kStates.begin())};
}

// Held while a file is read and replaced.
Mutex& Changing() {
  static Mutex mutex;
  return mutex;
}

}  // namespace

std::string TextOf(const VnpuRecord& record) {
  std::string text = fmt::format("boot {}\n", record.boot);
  for (const OwnVnpu& vnpu : record.vnpus) {
    text += fmt::format("vnpu {} {} {} {} {} {} {}\n", vnpu.place.card, vnpu.place.device,
                        vnpu.id ? std::to_string(*vnpu.id) : "-", vnpu.name, vnpu.device, vnpu.pod,
                        kStates.at(static_cast<size_t>(vnpu.state)));
  }
  return text;
}

Result<VnpuRecord> ParseVnpuRecord(std::string_view text) {
  VnpuRecord record;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() == 2 && words[0] == "boot") {
      record.boot = words[1];
    } else if (auto vnpu = ParseVnpu(words)) {
      record.vnpus.push_back(*std::move(vnpu));
    } else {
      return Fail(Reason::kStateCorrupt, "a line is no vNPU's: {}", line);
    }
  }
  return record;
}

std::string VnpuRecords::PathOf(const std::string& grant) const {
  return fmt::format("{}/{}{}", directory_, grant, kSuffix);
}

Status VnpuRecords::Write(const std::string& grant, const VnpuRecord& record) const {
  TRY(os::MakeDirectories(directory_));
  return os::WriteFileAtomically(PathOf(grant), TextOf(record));
}

Result<VnpuRecord> VnpuRecords::Read(const std::string& grant) const {
  const auto text = os::ReadFile(PathOf(grant), kMostBytes);
  if (!text && text.error().reason == Reason::kNotFound) return VnpuRecord();
  if (!text) return Fail(text.error());
  return TRY_IN(ParseVnpuRecord(*text), PathOf(grant));
}

Status VnpuRecords::Remove(const std::string& grant) const {
  const MutexLock lock(Changing());
  return os::RemoveFile(PathOf(grant));
}

Status VnpuRecords::Put(const std::string& grant, const OwnVnpu& vnpu) const {
  const MutexLock lock(Changing());
  VnpuRecord record = TRY(Read(grant));
  const std::string boot = TRY(os::ReadBootId());
  if (record.boot != boot) record = {.boot = boot, .vnpus = {}};
  const auto known = std::ranges::find(record.vnpus, vnpu.device, &OwnVnpu::device);
  if (known == record.vnpus.end()) {
    record.vnpus.push_back(vnpu);
  } else {
    *known = vnpu;
  }
  return Write(grant, record);
}

Status VnpuRecords::Drop(const std::string& grant, const std::string& device) const {
  const MutexLock lock(Changing());
  VnpuRecord record = TRY(Read(grant));
  std::erase_if(record.vnpus, [&](const OwnVnpu& vnpu) { return vnpu.device == device; });
  if (record.vnpus.empty()) return os::RemoveFile(PathOf(grant));
  return Write(grant, record);
}

Result<bool> VnpuRecords::Lose(const std::string& grant, const OwnVnpu& vnpu) const {
  const MutexLock lock(Changing());
  VnpuRecord record = TRY(Read(grant));
  const auto known = std::ranges::find(record.vnpus, vnpu);
  if (known == record.vnpus.end()) return false;
  known->state = VnpuState::kLost;
  TRY(Write(grant, record));
  return true;
}

Result<OwnVnpus> VnpuRecords::Now() const {
  OwnVnpus vnpus;
  const auto names = os::ListDirectory(directory_);
  if (!names && names.error().reason == Reason::kNotFound) return vnpus;
  if (!names) return Fail(names.error());
  const std::string boot = TRY(os::ReadBootId());
  for (const std::string& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    const std::string grant = name.substr(0, name.size() - kSuffix.size());
    const VnpuRecord record = TRY(Read(grant));
    if (record.boot != boot) continue;
    for (const OwnVnpu& vnpu : record.vnpus) vnpus.emplace(std::pair(grant, vnpu.device), vnpu);
  }
  return vnpus;
}

}  // namespace tessera::ascend
