// SPDX-License-Identifier: Apache-2.0
#include "backend/file/file.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "backend/file/describe.h"
#include "backend/file/directory_nodes.h"
#include "backend/file/glob.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera {
namespace {

constexpr Duration kPoll{2'000};
// Every process that closes /dev/null after writing makes an inotify event in /dev. So looks are
// spaced.
constexpr Duration kSettle{100};

Evidence Bad(EvidenceKind kind, Reason reason, std::string detail) {
  return {kind, EvidenceSource::kCheck, reason, std::move(detail)};
}

// The most files without a device that one log line names.
constexpr size_t kUnpairedNamed = 8;

using Names = std::vector<std::string>;

// Drops the fields that change when the device is used.
os::FileInfo Lasting(os::FileInfo info) {
  info.changed_ns = 0;
  info.links = 0;
  return info;
}

std::string DeviceNumber(dev_t device) {
  return fmt::format("{}:{}", major(device), minor(device));
}

}  // namespace

FileBackend::FileBackend(std::string resource, FileConfig config, os::Root root, os::Loop& loop)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      loop_(loop) {}

Status FileBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] {
    if (!look_) look_ = loop_.After(kSettle, [this] { CompareStates(); });
  });
  if (!watch) {
    // Scans and checks still find what changed, only later.
    log::Warn("hot-plug will be noticed late", watch.error(), {{"resource", resource_}});
    return {};
  }
  watch_ = *std::move(watch);
  watch_->Watch(Directories());
  file_states_ = ReadStates();
  return {};
}

void FileBackend::Stop() {
  watch_.reset();
  look_ = {};
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

Result<std::vector<std::vector<file::Match>>> FileBackend::Matches(
    const FileConfig::Group& group) const {
  std::vector<std::vector<file::Match>> matches;
  for (const FileConfig::Path& path : group.paths) {
    std::vector<std::string> files = TRY(file::Expand(root_, path.pattern));
    matches.emplace_back();
    for (std::string& each : files) {
      // A single path needs no pairing, so its files' hardware is not read.
      matches.back().push_back(group.paths.size() > 1 ? file::Known(root_, std::move(each))
                                                      : file::Match{std::move(each)});
    }
  }
  return matches;
}

Result<std::vector<Device>> FileBackend::Scan() {
  std::vector<Device> found;
  std::map<std::string, std::vector<ScannedFile>> needed;
  std::set<std::string> taken;
  std::vector<std::string> unpaired;
  for (const FileConfig::Group& group : config_.groups) {
    const auto matches = Matches(group);
    if (!matches) return Fail(Reason::kScanFailed, "{}: {}", resource_, matches.error().message);
    const file::Combined combined = file::Combine(group, *matches);
    std::ranges::copy(combined.unpaired, std::back_inserter(unpaired));
    for (const file::Members& members : combined.devices) {
      if (!taken.insert(file::Resolve(root_, members.front().file)).second) continue;
      Device device = file::Describe(root_, resource_, group, members);
      needed.try_emplace(device.key.id, NeededFiles(group, members));
      found.push_back(std::move(device));
    }
  }
  const MutexLock lock(mutex_);
  devices_ = std::move(needed);
  scanned_ = true;
  LogUnpaired(std::move(unpaired));
  return found;
}

// Logged once, until the list changes.
void FileBackend::LogUnpaired(std::vector<std::string> unpaired) {
  if (unpaired == unpaired_) return;
  unpaired_ = std::move(unpaired);
  if (unpaired_.empty()) return;
  const size_t named = std::min(unpaired_.size(), kUnpairedNamed);
  std::string files = Join(std::span(unpaired_).first(named), "; ");
  if (named < unpaired_.size()) files += fmt::format("; and {} more", unpaired_.size() - named);
  log::Warn("files belong to no device", {{"resource", resource_}, {"files", files}});
}

std::vector<FileBackend::ScannedFile> FileBackend::NeededFiles(const FileConfig::Group& group,
                                                               const file::Members& members) const {
  std::vector<ScannedFile> needed;
  for (const file::Member& member : members) {
    if (group.paths[member.path].optional) continue;
    ScannedFile seen{.path = member.file};
    if (const auto info = os::InspectTarget(root_.Path(member.file))) {
      seen.type = info->type;
      seen.rdev = info->rdev;
      seen.has_nodes =
          info->type == os::FileInfo::Type::kDirectory && !group.paths[member.path].mount;
    }
    needed.push_back(std::move(seen));
  }
  return needed;
}

Evidence FileBackend::Check(const Device& device) {
  if (device.defect) {
    return Bad(EvidenceKind::kBad, device.defect->reason, device.defect->message);
  }
  std::vector<ScannedFile> files;
  {
    const MutexLock lock(mutex_);
    if (!scanned_) {
      return Bad(EvidenceKind::kUnknown, Reason::kNotChecked, "no scan since the agent started");
    }
    const auto it = devices_.find(device.key.id);
    if (it == devices_.end()) {
      return Bad(EvidenceKind::kFatal, Reason::kVanished, "its files are gone");
    }
    files = it->second;
  }
  for (const ScannedFile& seen : files) {
    if (std::optional<Evidence> trouble = ProblemOf(seen)) return *std::move(trouble);
  }
  return {EvidenceKind::kGood, EvidenceSource::kCheck, {}, {}};
}

std::optional<Evidence> FileBackend::ProblemOf(const ScannedFile& seen) const {
  const Result<os::FileInfo> now = os::InspectTarget(root_.Path(seen.path));
  if (!now && now.error().reason == Reason::kNotFound) {
    return Bad(EvidenceKind::kFatal, Reason::kVanished, seen.path + " is gone");
  }
  if (!now) return Bad(EvidenceKind::kBad, Reason::kUnreadable, now.error().message);
  if (now->type != seen.type) {
    return Bad(EvidenceKind::kBad, Reason::kCheckFailed,
               fmt::format("{} was a {} and is a {}", seen.path, file::TypeName(seen.type),
                           file::TypeName(now->type)));
  }
  if (now->rdev != seen.rdev) {
    return Bad(EvidenceKind::kBad, Reason::kCheckFailed,
               fmt::format("{} was device {} and is device {}", seen.path, DeviceNumber(seen.rdev),
                           DeviceNumber(now->rdev)));
  }
  if (!seen.has_nodes) return std::nullopt;
  const auto below = file::NodesBelow(root_, seen.path);
  if (!below) return Bad(EvidenceKind::kBad, below.error().reason, below.error().message);
  if (!below->nodes.empty()) return std::nullopt;
  const Error empty = file::NoNodeBelow(seen.path);
  return Bad(EvidenceKind::kBad, empty.reason, empty.message);
}

void FileBackend::CompareStates() {
  look_ = {};
  FileStates sight = ReadStates();
  if (sight == file_states_) return;
  file_states_ = std::move(sight);
  watch_->Watch(Directories());
  ReportGone();
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
}

// The nodes below a directory; empty for any other file.
file::DirectoryNodes FileBackend::NodesBelow(const FileConfig::Path& path,
                                             const std::string& match) const {
  if (path.mount) return {};
  const auto info = os::InspectTarget(root_.Path(match));
  if (!info || info->type != os::FileInfo::Type::kDirectory) return {};
  return file::NodesBelow(root_, match).value_or(file::DirectoryNodes());
}

FileBackend::FileStates FileBackend::ReadStates() const {
  FileStates sight;
  for (const FileConfig::Group& group : config_.groups) {
    for (const FileConfig::Path& path : group.paths) {
      const auto matches = file::Expand(root_, path.pattern);
      if (!matches) continue;
      for (const std::string& match : *matches) {
        const auto info = os::InspectTarget(root_.Path(match));
        sight.emplace(match, Lasting(info.value_or(os::FileInfo{})));
        for (const auto& node : NodesBelow(path, match).nodes) {
          sight.emplace(node.host, Lasting(node.info));
        }
      }
    }
  }
  return sight;
}

std::set<std::string> FileBackend::Directories() const {
  std::set<std::string> directories;
  for (const FileConfig::Group& group : config_.groups) {
    for (const FileConfig::Path& path : group.paths) {
      directories.merge(file::WatchedDirectories(root_, path.pattern));
      for (const std::string& match : file::Expand(root_, path.pattern).value_or(Names())) {
        for (const std::string& each : NodesBelow(path, match).directories) {
          directories.insert(root_.Path(each));
        }
      }
    }
  }
  return directories;
}

// Reports a removed device at once, before the next scan or check, as a container may hold it.
void FileBackend::ReportGone() {
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  std::erase_if(devices_, [this](const auto& device) TESSERA_REQUIRES(mutex_) {
    const auto& [id, files] = device;
    for (const ScannedFile& seen : files) {
      if (file_states_.contains(seen.path)) continue;
      events_->Report({resource_, id}, {EvidenceKind::kFatal, EvidenceSource::kEvent,
                                        Reason::kVanished, seen.path + " is gone"});
      return true;
    }
    return false;
  });
}

}  // namespace tessera
