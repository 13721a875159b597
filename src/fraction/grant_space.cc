// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_space.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "fraction/grant_files.h"
#include "fraction/leftovers.h"
#include "limiter/contract.h"
#include "os/fd.h"
#include "os/open.h"
#include "os/tree.h"

namespace tessera {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

os::TreeSize Measure(const std::string& directory) {
  return os::MeasureTree(directory, {.entries = SpaceUse::kMostFiles,
                                     .depth = SpaceUse::kDeepest,
                                     .until = SystemClock().Now() + SpaceUse::kLook});
}

bool IsTooMuch(const os::TreeSize& size) {
  const bool untold = !size.whole && size.whole.error().reason != Reason::kTimedOut;
  return size.bytes > SpaceUse::kMost || untold;
}

std::string TooMuch(const os::TreeSize& size) {
  if (size.bytes <= SpaceUse::kMost) return size.whole.error().message;
  return fmt::format("{} MiB in {}, with a limit of {} MiB", size.bytes / kMebibyte,
                     Count(size.entries, "file"), SpaceUse::kMost / kMebibyte);
}

// True if the file has a region's size; HAMi-core's is smaller than ours. Processes map no more
// than that, so bytes after it are cut off.
bool CutRegion(const os::Fd& directory, const std::string& name) {
  const auto file = os::OpenFileIn(directory, name, O_RDWR, name);
  struct stat info{};
  if (!file || fstat(file->get(), &info) != 0) return false;
  const auto size = static_cast<uint64_t>(info.st_size);
  const auto is_small = [&] { return os::BytesOf(info) <= limiter::kRegionSize + kMebibyte; };
  if (size <= limiter::kRegionSize && is_small()) return true;
  return ftruncate(file->get(), static_cast<off_t>(std::min(size, limiter::kRegionSize))) == 0 &&
         fstat(file->get(), &info) == 0 && is_small();
}

constexpr char kLibraryFile[] = "libvgpu.so";

// True for an empty file, which runtimes make as a mount point.
bool IsMountPoint(const os::Fd& directory, const char* name) {
  struct stat info{};
  return fstatat(directory.get(), name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
         info.st_size == 0 && info.st_blocks == 0;
}

}  // namespace

SpaceUse TrimDirectory(const std::string& directory, const std::set<std::string>& regions) {
  const os::Fd top = os::OpenDirectory(directory, 0777);  // the mode that it was made with
  if (!top.valid() && errno == ENOENT) return {};
  if (!top.valid()) return {.cut = SystemError("it cannot be opened", errno).message};
  const os::TreeSize size = Measure(directory);
  if (!IsTooMuch(size)) return {.bytes = size.bytes + size.own};
  std::set<std::string> keep;
  for (const std::string& region : regions) {
    if (CutRegion(top, region)) keep.insert(region);
  }
  // The runtime mounts the library over this file. Without it new programs of the container run
  // without the library.
  if (IsMountPoint(top, kLibraryFile)) keep.insert(kLibraryFile);
  const Status emptied = os::EmptyDirectory(directory, keep, SystemClock().Now() + SpaceUse::kCut);
  const std::string done = emptied ? "everything except the limiting library's file was removed"
                                   : "not everything could be removed: " + emptied.error().message;
  const os::TreeSize left = Measure(directory);
  return {.bytes = left.bytes + left.own, .cut = fmt::format("{}; {}", TooMuch(size), done)};
}

std::optional<GrantSpace::SpaceReport> GrantSpace::CheckDirectories(
    const std::set<std::string>& containers) {
  const auto directories = Directories();
  const std::set<std::string> aside = AsideIn(containers);
  std::string first;
  {
    const MutexLock lock(mutex_);
    if (looked_at_.size() >= kMostHeld) return std::nullopt;
    std::erase_if(bytes_, [&](const auto& one) {
      return !directories.contains(one.first) && !aside.contains(one.first);
    });
    first = next_;
  }
  SpaceReport seen;
  const Steady until = SystemClock().Now() + kWhole;
  auto at = directories.lower_bound(first);
  for (size_t i = 0; i < directories.size() && SystemClock().Now() < until; ++i, ++at) {
    if (at == directories.end()) at = directories.begin();
    if (!ClaimDirectory(at->first)) continue;
    SetNext(at->first);
    if (auto cut = CheckDirectory(at->first, at->second)) seen.cuts.push_back(*std::move(cut));
  }
  for (const std::string& path : aside) {
    if (SystemClock().Now() < until && ClaimDirectory(path))
      ReturnDirectory(path, Measure(path).bytes);
  }
  const MutexLock lock(mutex_);
  for (const auto& [path, bytes] : bytes_) seen.bytes += bytes;
  return seen;
}

// False if another thread checks the directory.
bool GrantSpace::ClaimDirectory(const std::string& directory) {
  const MutexLock lock(mutex_);
  return looked_at_.insert(directory).second;
}

// The next check starts after this directory, even if this one hangs.
void GrantSpace::SetNext(const std::string& directory) {
  const MutexLock lock(mutex_);
  next_ = directory + '\0';
}

void GrantSpace::ReturnDirectory(const std::string& directory, uint64_t bytes) {
  const MutexLock lock(mutex_);
  looked_at_.erase(directory);
  bytes_[directory] = bytes;
}

std::optional<GrantSpace::Cut> GrantSpace::CheckDirectory(const std::string& directory,
                                                          const ContainerDirectory& owned) {
  SpaceUse space = TrimDirectory(directory, owned.regions);
  ReturnDirectory(directory, space.bytes);
  if (!space.cut) return std::nullopt;
  return Cut{.grant = owned.grant,
             .record = owned.record,
             .directory = owned.directory,
             .what = *std::move(space.cut)};
}

// A container that got a second grant has both grants' regions.
std::map<std::string, GrantSpace::ContainerDirectory> GrantSpace::Directories() {
  std::map<std::string, ContainerDirectory> directories;
  const auto grants = store_.Grants();
  if (!grants) return directories;
  for (const std::string& grant : *grants) {
    const auto record = store_.Find(grant);
    if (!record || *record == nullptr || !IsOwnDirectory(**record, grant)) continue;
    ContainerDirectory& owned = directories[root_.Path((*record)->directory)];
    owned.regions.insert(RegionNameOf(grant));
    owned.grant = grant;
    owned.record = *record;
    owned.directory = (*record)->directory;
    // HAMi-core's lock directory, in which it makes a file of this name.
    const std::string locks = LocksOf(**record, grant);
    directories[root_.Path(locks)] = {
        .regions = {"lock"}, .grant = grant, .record = *record, .directory = locks};
  }
  return directories;
}

}  // namespace tessera
