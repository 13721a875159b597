// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/amd.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <thread>

#include "backend/amd/devices.h"
#include "backend/pci_place.h"
#include "backend/sysfs.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera {
namespace {

// Retries of a list that the driver may be changing, on a worker.
constexpr int kTries = 4;
constexpr Duration kSettle{50};

Evidence Seen(EvidenceKind kind, Reason reason, std::string detail, Remedy remedy = Remedy::kNone) {
  return {.kind = kind, .reason = reason, .detail = std::move(detail), .remedy = remedy};
}

Evidence Event(EvidenceKind kind, Reason reason, std::string detail, Remedy remedy) {
  Evidence evidence = Seen(kind, reason, std::move(detail), remedy);
  evidence.source = EvidenceSource::kEvent;
  return evidence;
}

std::string TextOf(const amd::RasErrors& errors) {
  std::vector<std::string> texts;
  for (const auto& [block, count] : errors) {
    texts.push_back(fmt::format("{} of {}", Count(count, "uncorrected error"), block));
  }
  return Join(texts, ", ");
}

}  // namespace

AmdBackend::AmdBackend(std::string resource, AmdConfig config, os::Root root, os::Loop& loop,
                       amd::SmiEvents::Open open, amd::ExporterWatch::Ask ask, const Clock& clock,
                       Duration look)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      loop_(loop),
      clock_(clock),
      look_(look),
      ras_(root_, clock),
      streams_(
          loop, std::move(open),
          [this](const std::string& address, amd::SmiEvent event) { Heard(address, event); },
          clock),
      exporter_(config_.exporter == "off" ? "" : root_.Path(config_.exporter), std::move(ask),
                clock) {}

Status AmdBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  exporter_.AskSoon();
  state_ = ReadState();
  timer_ = loop_.Every(look_, [this] { Look(); });
  return {};
}

void AmdBackend::Stop() {
  timer_ = {};
  streams_.Stop();
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

// The end of a reset is not heard meanwhile.
bool AmdBackend::Release() {
  released_ = true;
  streams_.Follow({});
  const MutexLock lock(mutex_);
  resets_.clear();
  return true;
}

std::vector<std::string> AmdBackend::HeldBy() const {
  if (!streams_.is_opening()) return {};
  return {resource_ + ": a process that opens /dev/kfd"};
}

void AmdBackend::TakeUp() {
  released_ = false;
  followed_.reset();
}

void AmdBackend::LearnReset(const Device& device) {
  const MutexLock lock(mutex_);
  const bool is_known = std::ranges::count(*founds_, device.address, &Found::address) > 0;
  if (is_known) ras_.WasReset(device.address);
}

AmdBackend::State AmdBackend::ReadState() const {
  auto addresses = amd::ReadAddresses(root_);
  return {.generation = amd::ReadGeneration(root_),
          .addresses = addresses ? *std::move(addresses) : std::vector<std::string>()};
}

void AmdBackend::Look() {
  exporter_.AskSoon();
  if (released_) return;
  TellLongResets();
  State now = ReadState();
  std::shared_ptr<const Founds> founds;
  {
    const MutexLock lock(mutex_);
    if (now != state_ && events_ != nullptr) events_->RescanSoon();
    founds = founds_;
  }
  state_ = std::move(now);
  if (founds != followed_) Follow(*founds);
  followed_ = std::move(founds);
  streams_.OpenMissing();
  LogTroubles();
}

void AmdBackend::Follow(const Founds& founds) {
  std::map<std::string, std::vector<uint64_t>> gpus;
  for (const Found& found : founds) gpus[found.address].push_back(found.gpu_id);
  streams_.Follow(gpus);
}

void AmdBackend::LogTroubles() {
  const auto& troubles = streams_.troubles();
  const std::string trouble = troubles.empty() ? "" : troubles.begin()->second.message;
  if (trouble != trouble_ && !trouble.empty()) {
    log::Warn("resets of GPUs are noticed late, as their events cannot be received",
              troubles.begin()->second, {{"resource", resource_}});
  }
  trouble_ = trouble;
}

// A GPU that throttles serves: that is only counted.
void AmdBackend::Heard(const std::string& address, amd::SmiEvent event) {
  if (event == amd::SmiEvent::kBeforeReset) {
    {
      const MutexLock lock(mutex_);
      resets_.try_emplace(address, Resetting{clock_.Now(), clock_.WallNow()});
    }
    ReportOf(address, Event(EvidenceKind::kFatal, Reason::kResetNeeded,
                            "the driver resets " + address, Remedy::kNone));
  } else if (event == amd::SmiEvent::kAfterReset) {
    {
      const MutexLock lock(mutex_);
      resets_.erase(address);
    }
    ras_.WasReset(address);
    ReportOf(address, Event(EvidenceKind::kReset, {}, "", Remedy::kNone));
  } else {
    const MutexLock lock(mutex_);
    if (events_ == nullptr) return;
    events_->CountDriverError(address, "thermal-throttling");
  }
}

// Checks keep a GPU out during a reset. The event of its end may be lost, so people read since when
// it lasts, and may say that it has ended.
void AmdBackend::TellLongResets() {
  std::map<std::string, Wall> long_ones;
  {
    const MutexLock lock(mutex_);
    std::erase_if(resets_, [&](const auto& item) {
      const bool is_long = clock_.Now() - item.second.since >= kLongReset;
      if (is_long) long_ones.emplace(item.first, item.second.began);
      return is_long;
    });
  }
  for (const auto& [address, began] : long_ones) {
    ReportOf(address, Event(EvidenceKind::kFatal, Reason::kResetNeeded,
                            fmt::format("the driver has not ended the reset of {} that began at {}",
                                        address, FormatTime(began)),
                            Remedy::kReset));
  }
}

void AmdBackend::ReportOf(const std::string& address, const Evidence& evidence) {
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  for (const Found& found : *founds_) {
    if (found.address == address) events_->Report(found.key, evidence);
  }
}

// Partitions have thousands of links, which only order what is preferred. The first scan of a
// topology leaves them and sizes out, and asks for another. Virtual GPUs need sizes.
Result<amd::Gpus> AmdBackend::ReadRestLater() {
  const uint64_t generation = amd::ReadGeneration(root_);
  const bool seen = scanned_generation_.exchange(generation) == generation;
  const bool again = seen || config_.vgpu.on;
  const auto read = amd::ReadGpus(root_, again ? amd::Depth::kAll : amd::Depth::kPlace);
  if (again || !read) return read;
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
  return read;
}

// The driver makes all its nodes anew for a change of one GPU, and for a moment others are absent.
Result<amd::Gpus> AmdBackend::ReadSettled() {
  auto read = ReadRestLater();
  for (int tried = 1; tried < kTries && read && IsHalf(read->gpus); ++tried) {
    std::this_thread::sleep_for(kSettle);
    read = ReadRestLater();
  }
  return read;
}

// A GPU lacks parts that it had.
bool AmdBackend::IsHalf(const std::vector<amd::Gpu>& gpus) {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(gpus, [&](const amd::Gpu& gpu) TESSERA_REQUIRES(mutex_) {
    const auto last = std::ranges::find(last_, gpu.address, &amd::Gpu::address);
    if (last == last_.end() || last->trouble) return false;
    const bool has_fewer =
        gpu.Profile() == last->Profile() && gpu.parts.size() < last->parts.size();
    return gpu.trouble || has_fewer;
  });
}

Result<std::vector<Device>> AmdBackend::Scan() {
  if (released_) return Fail(Reason::kReleased, "the driver is released for maintenance");
  const uint64_t module = ReadModule();
  auto read = ReadSettled();
  if (!read) {
    if (read.error().reason != Reason::kDriverMissing) return Fail(read.error());
    {
      const MutexLock lock(mutex_);
      driver_was_gone_ = true;
    }
    if (!amd::HasNoGpu(root_)) return Fail(read.error());
    if (!told_no_gpu_.exchange(true)) {
      log::Info("the node has no AMD GPU", {{"resource", resource_}});
    }
    return std::vector<Device>();
  }
  KeepParts(read->gpus);
  std::vector<Device> devices = amd::DevicesOf(root_, resource_, config_, read->gpus);
  Founds founds;
  for (const amd::Gpu& gpu : read->gpus) {
    for (const amd::Part& part : gpu.parts) {
      const auto device = std::ranges::find(devices, amd::IdOf(config_, gpu, &part),
                                            [](const Device& one) { return one.key.id; });
      if (device == devices.end()) continue;
      founds.push_back({device->key, gpu.address, part.number, part.kfd.gpu_id});
    }
  }
  WarnOfLacks(read->gpus, devices);
  std::vector<std::string> returned;
  {
    const MutexLock lock(mutex_);
    const bool was_loaded = driver_was_gone_ || (has_scanned_ && module != module_);
    for (const amd::Gpu& gpu : read->gpus) {
      const bool is_new = std::ranges::count(last_, gpu.address, &amd::Gpu::address) == 0;
      if (was_loaded || (has_scanned_ && is_new)) returned.push_back(gpu.address);
    }
    module_ = module;
    has_scanned_ = true;
    driver_was_gone_ = false;
    founds_ = std::make_shared<const Founds>(std::move(founds));
    generation_ = read->generation;
    last_ = std::move(read->gpus);
    for (const std::string& address : returned) resets_.erase(address);
  }
  // A driver that takes a GPU up again has reset it.
  for (const std::string& address : returned) {
    ras_.WasReset(address);
    ReportOf(address, Event(EvidenceKind::kReset, {}, "", Remedy::kNone));
  }
  return devices;
}

// The driver's, as long as it is loaded.
uint64_t AmdBackend::ReadModule() const {
  const auto module = os::Inspect(root_.Path("/sys/module/amdgpu"));
  return module ? module->inode : 0;
}

// A consumer's GPU is served, and each is named once.
void AmdBackend::WarnOfLacks(const std::vector<amd::Gpu>& gpus,
                             const std::vector<Device>& devices) {
  for (const amd::Gpu& gpu : gpus) {
    std::vector<std::string> lacks;
    if (gpu.unique_id == 0) lacks.emplace_back("has no serial number, by which ROCm would name it");
    if (!gpu.counts_errors) lacks.emplace_back("counts no errors of its memory");
    const bool is_served = std::ranges::count(devices, gpu.address, &Device::address) > 0;
    if (lacks.empty() || gpu.trouble || !is_served) continue;
    {
      const MutexLock lock(mutex_);
      if (!warned_of_.insert(gpu.address).second) continue;
    }
    log::Warn("a GPU is served that lacks what Instinct cards have",
              {{"resource", resource_}, {"gpu", gpu.address}, {"detail", Join(lacks, ", ")}});
  }
}

std::shared_ptr<const cdi::Parts> AmdBackend::DescribeForCdi(const std::vector<Device>&) {
  return config_.vgpu.on ? std::make_shared<const cdi::Parts>() : nullptr;
}

// A GPU in trouble keeps the parts that it had, as what the kernel says of it now may be half of
// the truth.
void AmdBackend::KeepParts(std::vector<amd::Gpu>& gpus) {
  const MutexLock lock(mutex_);
  for (amd::Gpu& gpu : gpus) {
    if (!gpu.trouble) continue;
    const auto last = std::ranges::find(last_, gpu.address, &amd::Gpu::address);
    if (last == last_.end() || last->parts.empty()) continue;
    gpu.compute = last->compute;
    gpu.memory_mode = last->memory_mode;
    gpu.parts = last->parts;
  }
  unsigned index = 0;
  for (amd::Gpu& gpu : gpus) {
    for (amd::Part& part : gpu.parts) part.index = index++;
  }
}

// Whether the kernel still has the part. Its list need not be read while its generation is the
// scan's.
bool AmdBackend::CanCompute(const Found& found, uint64_t generation) const {
  if (generation != 0 && amd::ReadGeneration(root_) == generation) return true;
  for (int tried = 0; tried < kTries; ++tried) {
    if (tried > 0) std::this_thread::sleep_for(kSettle);
    const auto addresses = amd::ReadAddresses(root_);
    if (!addresses) return false;
    const auto topology = amd::ReadTopology(root_, *addresses, amd::Depth::kPlace);
    const bool has =
        topology && std::ranges::any_of(topology->nodes, [&](const amd::KfdNode& node) {
          return node.address == found.address && node.partition == found.partition;
        });
    if (has) return true;
  }
  return false;
}

bool AmdBackend::ExporterTakesOut(const DeviceKey& key) {
  std::shared_ptr<const Founds> founds;
  {
    const MutexLock lock(mutex_);
    founds = founds_;
  }
  const auto found = std::ranges::find(*founds, key, &Found::key);
  if (found == founds->end()) return false;
  return amd::SaysUnhealthy(*exporter_.words(), found->address, found->partition,
                            [&](std::string_view address) {
                              return std::ranges::count(*founds, address, &Found::address) > 0;
                            });
}

Evidence AmdBackend::Check(const Device& device) {
  Evidence evidence = CheckByKernel(device);
  if (evidence.kind != EvidenceKind::kGood) return evidence;
  exporter_.AwaitFirst();
  if (ExporterTakesOut(device.key)) {
    return Seen(EvidenceKind::kFatal, Reason::kCheckFailed,
                "AMD's metrics exporter says that it is unhealthy");
  }
  return evidence;
}

Evidence AmdBackend::CheckByKernel(const Device& device) {
  Found found;
  uint64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    const auto known = std::ranges::find(*founds_, device.key, &Found::key);
    if (known == founds_->end()) {
      return Seen(EvidenceKind::kFatal, Reason::kVanished, "the driver no longer has it");
    }
    found = *known;
    generation = generation_;
  }
  if (IsAsleep(root_, found.address)) return Seen(EvidenceKind::kGood, {}, "");
  if (IsOffTheBus(root_, found.address)) {
    return Seen(EvidenceKind::kFatal, Reason::kDeviceLost,
                found.address + " no longer answers on its bus");
  }
  if (!CanCompute(found, generation)) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished,
                fmt::format("{}: the driver no longer has it", device.key.id));
  }
  for (const DeviceNode& node : device.nodes) {
    if (os::Exists(root_.Path(node.host_path))) continue;
    return Seen(EvidenceKind::kFatal, Reason::kVanished, node.host_path + " is gone");
  }
  Evidence evidence = CheckErrors(found);
  if (evidence.kind != EvidenceKind::kGood || !IsResetting(found.address)) return evidence;
  return Seen(EvidenceKind::kFatal, Reason::kResetNeeded, "the driver resets " + found.address);
}

bool AmdBackend::IsResetting(const std::string& address) {
  const MutexLock lock(mutex_);
  return resets_.contains(address);
}

// Whether the device has not been told of its GPU's errors.
bool AmdBackend::IsNews(const Found& found, const amd::RasWatch::Answer& errors) {
  const MutexLock lock(mutex_);
  auto& told = told_[found.address];
  if (errors.standing.empty()) {
    told.clear();
    return false;
  }
  if (errors.fresh.empty()) return told.insert(found.key).second;
  told = {found.key};
  for (const Found& each : *founds_) {
    if (each.address == found.address) told.insert(each.key);
  }
  return true;
}

// A new error is told of all parts of the GPU at once: its remedy keeps them out. The parts of a
// GPU that is divided anew are told of it too. A check that began before a reset may tell of it
// afterwards, so the next one tells of the reset again.
Evidence AmdBackend::CheckErrors(const Found& found) {
  const std::string& address = found.address;
  const amd::RasWatch::Answer errors = ras_.Look(address);
  if (errors.reset) {
    {
      const MutexLock lock(mutex_);
      resets_.erase(address);  // the event of its end may be lost
    }
    ReportOf(address, Event(EvidenceKind::kReset, {}, "", Remedy::kNone));
  }
  if (IsNews(found, errors)) {
    const std::string text = fmt::format("{}: {}", address, TextOf(errors.standing));
    if (!errors.fresh.empty()) {
      ReportOf(address, Event(EvidenceKind::kFatal, Reason::kRas, text, Remedy::kReset));
    }
    return Seen(EvidenceKind::kFatal, Reason::kRas, text, Remedy::kReset);
  }
  if (errors.failed_pages > 0) {
    return Seen(EvidenceKind::kFatal, Reason::kRas,
                fmt::format("{}: {} of memory that the driver cannot set aside", address,
                            Count(errors.failed_pages, "bad page")));
  }
  return Seen(EvidenceKind::kGood, {}, "");
}

}  // namespace tessera
