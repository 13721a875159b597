// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/dummy.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "backend/dummy/fault_file.h"
#include "base/log.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr Duration kPoll{2'000};
constexpr char kBusLost[] = "the whole bus is gone";
constexpr char kUnplugged[] = "unplugged";
constexpr char kFlapping[] = "flapping";

std::string Directory(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string WithId(std::string path, std::string_view id) {
  static constexpr std::string_view kPlaceholder = "{id}";
  for (size_t at = path.find(kPlaceholder); at != std::string::npos;
       at = path.find(kPlaceholder, at + id.size())) {
    path.replace(at, kPlaceholder.size(), id);
  }
  return path;
}

// Devices with a fault. Of thousands, usually one changes at a time.
std::set<std::string, NaturalLess> Named(const dummy::Faults& before, const dummy::Faults& after) {
  std::set<std::string, NaturalLess> ids;
  for (const dummy::Faults* faults : {&before, &after}) {
    for (const auto& [id, fault] : faults->devices) ids.insert(id);
  }
  return ids;
}

}  // namespace

DummyBackend::DummyBackend(std::string resource, DummyConfig config, const std::string& state_dir,
                           os::Loop& loop, const Clock& clock)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      fault_file_(config_.fault_file.empty() ? dummy::FaultFile(state_dir, resource_)
                                             : config_.fault_file),
      loop_(loop),
      clock_(clock) {
  Reload();
}

Status DummyBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    stopped_ = false;
    events_ = &events;
    Announce({}, faults_);
  }
  // Without a watch the devices work, but changes of the file have no effect.
  if (Status made = os::MakeDirectories(Directory(fault_file_)); !made) {
    log::Warn("no directory for faults", made.error(), {{"resource", resource_}});
  }
  auto watch = os::DirectoryWatch::Make(loop_, kPoll, [this] {
    Reload();
    FollowFlapping();
  });
  if (!watch) {
    log::Warn("changes of the fault file will not be seen", watch.error(),
              {{"resource", resource_}});
  } else {
    watch_ = *std::move(watch);
    watch_->Watch({Directory(fault_file_)});
  }
  Reload();
  FollowFlapping();
  return {};
}

void DummyBackend::Stop() {
  watch_.reset();
  flap_timer_ = {};
  flapped_.clear();
  const MutexLock lock(mutex_);
  events_ = nullptr;
  stopped_ = true;
  wake_.notify_all();
}

Result<std::vector<Device>> DummyBackend::Scan() {
  const MutexLock lock(mutex_);
  if (faults_.lost) {
    return Fail(Reason::kScanFailed, "{}: {} (fault \"lost\" in {})", resource_, kBusLost,
                fault_file_);
  }
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(config_.count));
  for (int number = 0; number < config_.count; ++number) {
    Device device = Describe(number);
    if (!faults_.Of(device.key.id).hidden) devices.push_back(std::move(device));
  }
  return devices;
}

Device DummyBackend::Describe(int number) const {
  const std::string id = std::to_string(number);
  Device device;
  device.key = Key(id);
  device.model = "dummy NPU";
  device.visible_as = id;
  if (config_.numa_nodes > 0) {
    device.numa_nodes = {static_cast<int>(int64_t{number} * config_.numa_nodes / config_.count)};
  }
  device.nodes = config_.nodes;
  for (DeviceNode& node : device.nodes) {
    node.host_path = WithId(node.host_path, id);
    node.container_path = WithId(node.container_path, id);
  }
  device.mounts = config_.mounts;
  for (Mount& mount : device.mounts) {
    mount.host_path = WithId(mount.host_path, id);
    mount.container_path = WithId(mount.container_path, id);
  }
  return device;
}

bool DummyBackend::Has(std::string_view id) const {
  int number = -1;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number >= 0 && number < config_.count && std::to_string(number) == id;
}

Evidence DummyBackend::Check(const Device& device) {
  MutexLock lock(mutex_);
  if (!AwaitAnswer(lock, device.key.id)) {
    return {EvidenceKind::kUnknown, EvidenceSource::kCheck, Reason::kCheckTimedOut,
            "the agent stops"};
  }
  if (std::optional<Evidence> trouble = Trouble(device.key.id)) return *std::move(trouble);
  if (const dummy::Fault fault = faults_.Of(device.key.id); fault.broken) {
    return {EvidenceKind::kUnknown, EvidenceSource::kCheck, Reason::kCheckFailed, *fault.broken};
  }
  return {EvidenceKind::kGood, EvidenceSource::kCheck, {}, {}};
}

std::optional<Evidence> DummyBackend::Trouble(const std::string& id) const {
  Evidence bad{EvidenceKind::kBad, EvidenceSource::kCheck, Reason::kCheckFailed, ""};
  const dummy::Fault fault = faults_.Of(id);
  if (faults_.lost) {
    bad.detail = kBusLost;
  } else if (fault.hidden || !Has(id)) {
    bad = {EvidenceKind::kFatal, EvidenceSource::kCheck, Reason::kVanished, kUnplugged};
  } else if (fault.fail) {
    bad.detail = *fault.fail;
  } else if (fault.flap.count() > 0 && dummy::InFailingPhase(fault.flap, clock_.Now())) {
    bad.detail = kFlapping;
  } else {
    return std::nullopt;
  }
  return bad;
}

bool DummyBackend::AwaitAnswer(MutexLock& lock, const std::string& id) {
  // Real time, as a slow device must delay its caller. A healed one answers at once.
  const auto begin = std::chrono::steady_clock::now();
  while (!stopped_) {
    const auto end = begin + faults_.Of(id).slow;
    if (std::chrono::steady_clock::now() >= end) return true;
    wake_.wait_until(lock, end);
  }
  return false;
}

Status DummyBackend::Reset(const Device& device) {
  const std::string& id = device.key.id;
  {
    MutexLock lock(mutex_);
    if (!AwaitAnswer(lock, id)) {
      return Fail(Reason::kUnavailable, "{} was not reset: the agent stops", device.key.Text());
    }
    if (const std::optional<Evidence> trouble = Trouble(id)) {
      return Fail(Reason::kResetFailed, "{} cannot be reset: {}", device.key.Text(),
                  trouble->detail);
    }
    if (const dummy::Fault fault = faults_.Of(id); fault.reset_fails) {
      return Fail(Reason::kResetFailed, "{} cannot be reset: {}", device.key.Text(),
                  *fault.reset_fails);
    }
    ++resets_[id];
  }
  log::Info("device reset", {{"device", device.key.Text()}});
  return {};
}

int DummyBackend::resets(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto it = resets_.find(id);
  return it == resets_.end() ? 0 : it->second;
}

void DummyBackend::Reload() {
  const MutexLock file_lock(file_mutex_);
  Result<dummy::Faults> faults = dummy::ReadFaultFile(fault_file_);
  if (faults) {
    file_error_.reset();
    Replace(*std::move(faults));
  } else if (file_error_ != faults.error()) {
    log::Warn("fault file is broken, the last good faults stay", faults.error(),
              {{"resource", resource_}});
    file_error_ = faults.error();
  }
}

void DummyBackend::Replace(dummy::Faults next) {
  const MutexLock lock(mutex_);
  if (next == faults_) return;
  Announce(faults_, next);
  faults_ = std::move(next);
  wake_.notify_all();
  log::Info("the fault file counts", {{"resource", resource_}});
}

void DummyBackend::Announce(const dummy::Faults& before, const dummy::Faults& after) {
  if (events_ == nullptr) return;
  const auto report = [this](std::string_view id, Reason reason,
                             std::string detail) TESSERA_REQUIRES(mutex_) {
    events_->Report(Key(id),
                    {EvidenceKind::kFatal, EvidenceSource::kEvent, reason, std::move(detail)});
  };
  if (after.lost && !before.lost) {
    for (int number = 0; number < config_.count; ++number) {
      report(std::to_string(number), Reason::kFatalEvent, kBusLost);
    }
  }
  bool look = before.lost != after.lost;  // faults that only a scan or a check shows
  for (const std::string& id : Named(before, after)) {
    if (!Has(id)) continue;
    const dummy::Fault old = before.Of(id);
    const dummy::Fault now = after.Of(id);
    if (now.hidden && !old.hidden) report(id, Reason::kVanished, kUnplugged);
    if (now.fail && now.fail != old.fail) report(id, Reason::kFatalEvent, *now.fail);
    look |= now.hidden != old.hidden || now.slow != old.slow || now.broken != old.broken;
  }
  if (look) events_->RescanSoon();
}

// Reports each fall when it happens, as checks would see a short flap only by chance.
void DummyBackend::FollowFlapping() {
  std::optional<Duration> wait;
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  const Steady now = clock_.Now();
  std::set<std::string> flapped;
  for (const auto& [id, fault] : faults_.devices) {
    if (fault.flap.count() == 0 || !Has(id)) continue;
    const Duration left = dummy::NextPhase(fault.flap, now) - now;
    wait = std::min(wait.value_or(left), left);
    if (!dummy::InFailingPhase(fault.flap, now)) continue;
    if (!flapped_.contains(id)) {
      events_->Report(
          Key(id), {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, kFlapping});
    }
    flapped.insert(id);
  }
  flapped_ = std::move(flapped);
  flap_timer_ = wait ? loop_.After(*wait, [this] { FollowFlapping(); }) : os::Loop::Handle();
}

}  // namespace tessera
