// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_times.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "limiter/contract.h"

namespace tessera::agent {
namespace {

using limiter::Region;
using limiter::TimeBooks;

constexpr uint64_t kIdle = 2'000'000'000;  // ns without a charge
// A kernel is charged when it is launched or measured, however long it ran: more than that in one
// look is nobody's.
constexpr uint64_t kMostAtOnce = 2'000'000'000;  // ns

constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

// By its one name in a directory that the container writes in: nothing outside of it is opened.
os::Fd OpenBeneath(const std::string& directory, const std::string& name) {
  const os::Fd in(open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!in.valid()) return {};
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  os::Fd file(static_cast<int>(syscall(SYS_openat2, in.get(), name.c_str(), &how, sizeof how)));
  // Before 5.6, and where a seccomp filter does not know it.
  if (!file.valid() && (errno == ENOSYS || errno == EPERM)) {
    file = os::Fd(openat(in.get(), name.c_str(), kFlags));
  }
  struct stat info{};
  const bool is_file = file.valid() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
                       static_cast<uint64_t>(info.st_size) >= sizeof(Region);
  return is_file ? std::move(file) : os::Fd();
}

template <class T>
bool ReadAt(const os::Fd& file, size_t offset, T& value) {
  return pread(file.get(), &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
}

template <class T>
void WriteAt(const os::Fd& file, size_t offset, const T& value) {
  (void)!pwrite(file.get(), &value, sizeof value, static_cast<off_t>(offset));
}

constexpr size_t TimesAt(size_t place) {
  return offsetof(Region, books.times) + place * sizeof(TimeBooks);
}

// As this agent makes them.
bool IsKnown(const os::Fd& file) {
  uint64_t magic = 0;
  uint32_t version = 0;
  return ReadAt(file, offsetof(Region, books.magic), magic) && magic == limiter::kBooksMagic &&
         ReadAt(file, offsetof(Region, books.version), version) &&
         version == limiter::kBooksVersion;
}

uint64_t MonotonicNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

}  // namespace

void GrantTimes::Add(const std::string& grant, const std::string& directory,
                     const std::string& file, const std::vector<std::string>& devices) {
  if (regions_.contains(grant)) return;
  Followed region{.file = OpenBeneath(directory, file), .devices = {}};
  if (!region.file.valid() || !IsKnown(region.file)) return;
  for (size_t place = 0; place < devices.size() && place < limiter::kMaxDevices; ++place) {
    TimeBooks books{};
    (void)ReadAt(region.file, TimesAt(place), books);
    region.devices.push_back({.uuid = devices[place], .used = books.used, .others = books.others});
  }
  regions_.emplace(grant, std::move(region));
}

// What is corrected later may be less than before: it counts once it is more again.
void GrantTimes::Read(Followed& region, uint64_t now, uint64_t passed) {
  for (size_t place = 0; place < region.devices.size(); ++place) {
    Device& device = region.devices[place];
    device.latest = 0;
    uint64_t used = 0;
    if (!ReadAt(region.file, TimesAt(place) + offsetof(TimeBooks, used), used)) continue;
    const auto more = static_cast<int64_t>(used - device.used);
    if (more > 0) device.latest = std::min(static_cast<uint64_t>(more), kMostAtOnce + passed);
    // So much less is another region's, or nonsense.
    if (more > 0 || more < -static_cast<int64_t>(kMostAtOnce)) device.used = used;
    if (device.latest > 0) {
      device.active = now;
      device.is_shown = true;
    } else if (device.is_shown && now - device.active > kIdle) {
      ShowIdle(region, place);
      device.is_shown = false;
    }
  }
}

// Nobody else does for a process that has stopped launching.
void GrantTimes::ShowIdle(const Followed& region, size_t place) {
  uint32_t slots = 0;
  if (!ReadAt(region.file, offsetof(Region, books.slots_used), slots)) return;
  slots = std::min<uint32_t>(slots, limiter::kMaxSlots);
  for (size_t slot = 0; slot < slots; ++slot) {
    const size_t at = offsetof(Region, hami.slots) + slot * sizeof(limiter::HamiSlot) +
                      offsetof(limiter::HamiSlot, utilization) +
                      place * sizeof(limiter::HamiUtilization) +
                      offsetof(limiter::HamiUtilization, sm);
    uint64_t shown = 0;
    if (ReadAt(region.file, at, shown) && shown != 0) WriteAt(region.file, at, uint64_t{0});
  }
}

Duration GrantTimes::Tell(uint64_t now) {
  const uint64_t passed = told_at_ == 0 ? 0 : now - told_at_;
  told_at_ = now;
  std::map<std::string, uint64_t> sums;
  std::map<std::string, int> active;
  for (auto& [grant, region] : regions_) {
    Read(region, now, passed);
    for (const Device& device : region.devices) {
      sums[device.uuid] += device.latest;
      if (device.active != 0 && now - device.active < kIdle) ++active[device.uuid];
    }
  }
  bool any_shared = false;
  for (auto& [grant, region] : regions_) {
    for (size_t place = 0; place < region.devices.size(); ++place) {
      Device& device = region.devices[place];
      device.others += sums[device.uuid] - device.latest;
      // Who launches nothing asks for nothing.
      if (device.active == 0 || now - device.active >= kIdle) continue;
      any_shared = any_shared || active[device.uuid] > 1;
      const uint64_t word[2] = {device.others, now};
      WriteAt(region.file, TimesAt(place) + offsetof(TimeBooks, others), word);
    }
  }
  return any_shared ? kShared : kAlone;
}

GrantTimesThread::~GrantTimesThread() {
  const std::lock_guard lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
}

void GrantTimesThread::Add(const std::string& grant, const std::string& directory,
                           const std::string& file, const std::vector<std::string>& devices) {
  const std::lock_guard lock(state_->mutex);
  state_->times.Add(grant, directory, file, devices);
  if (state_->times.empty()) return;
  state_->changed.notify_all();
  thread_.Start([state = state_] { Run(state); },
                "containers of one GPU are not told how long others had it");
}

void GrantTimesThread::Remove(const std::string& grant) {
  const std::lock_guard lock(state_->mutex);
  state_->times.Remove(grant);
}

void GrantTimesThread::Run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  const auto is_wanted = [&] { return state->ends || !state->times.empty(); };
  while (!state->ends) {
    state->changed.wait(lock, is_wanted);
    const Duration next = state->times.Tell(MonotonicNs());
    state->changed.wait_for(lock, next, [&] { return state->ends; });
  }
}

}  // namespace tessera::agent
