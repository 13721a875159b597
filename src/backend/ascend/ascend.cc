// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/ascend.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "backend/ascend/faults.h"
#include "backend/sysfs.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera {
namespace {

using ascend::Found;

// A network link that is down so long takes the chip out; after that it stays out for a while.
// Source: mind-cluster's faultCustomization.json.
constexpr Duration kLinkDownLasts{20'000};
constexpr Duration kLinkUpLasts{60'000};

Evidence Seen(EvidenceKind kind, Reason reason, std::string detail) {
  return {.kind = kind, .reason = reason, .detail = std::move(detail)};
}

Evidence Lost(Reason reason, uint32_t vnpu) {
  return Seen(EvidenceKind::kFatal, reason,
              fmt::format("vNPU {} was destroyed by another program", vnpu));
}

Evidence NoAnswer(const dcmi::Failure& failure) {
  // The driver says of a chip that it has lost, or that restarts, that it is not ready.
  if (failure.code == dcmi::kNotReady) {
    return Seen(EvidenceKind::kFatal, Reason::kDeviceLost, failure.Text());
  }
  return Seen(EvidenceKind::kUnknown, Reason::kUnreadable, failure.Text());
}

}  // namespace

AscendBackend::AscendBackend(std::string resource, AscendConfig config, os::Root root,
                             std::string state_dir, os::Loop& loop, const Clock& clock, Times times)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      root_(std::move(root)),
      loop_(loop),
      clock_(clock),
      times_(times),
      session_(dcmi::Session::Of(root_)),
      records_(std::move(state_dir) + "/ascend"),
      reader_(root_) {
  if (!config_.Makes() && !config_.Divides()) return;
  preparer_.emplace(session_, root_, config_.vnpu_template, config_.vgpu, records_,
                    [this](const std::string& device) -> std::optional<ascend::ChipPlace> {
                      const auto found = Find(device);
                      if (!found) return std::nullopt;
                      return ascend::ChipPlace{found->place, found->physical};
                    });
}

Status AscendBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  state_ = ReadState();
  listening_.emplace([this](const dcmi::FaultEvent& event) { Heard(event); });
  timer_ = loop_.Every(times_.look, [this] { Look(); });
  return {};
}

void AscendBackend::Stop() {
  timer_ = {};
  listening_.reset();
  const MutexLock lock(mutex_);
  events_ = nullptr;
}

bool AscendBackend::Release() {
  session_->Release();
  return true;
}

void AscendBackend::TakeUp() {
  session_->TakeUp();
}

std::vector<std::string> AscendBackend::HeldBy() const {
  return session_->HeldBy();
}

AscendBackend::State AscendBackend::ReadState() const {
  const std::vector<std::string> bus = sysfs::Names(root_.Path("/sys/bus/pci/devices"));
  State state{.library = session_->FileNow(), .bus = std::hash<std::string>()(Join(bus, " "))};
  state.nodes = sysfs::Names(root_.Path("/dev"));
  std::erase_if(state.nodes, [](const std::string& name) {
    return !name.starts_with("davinci") && !name.starts_with("vdavinci");
  });
  return state;
}

void AscendBackend::Look() {
  State now = ReadState();
  if (now == state_) return;
  state_ = std::move(now);
  const MutexLock lock(mutex_);
  if (events_ != nullptr) events_->RescanSoon();
}

void AscendBackend::Heard(const dcmi::FaultEvent& event) {
  const auto& fault = event.of;
  const MutexLock lock(mutex_);
  if (events_ == nullptr) return;
  bool is_ours = false;
  for (const auto& [id, found] : founds_) {
    if (found.device.defect || found.logic != fault.device) continue;
    is_ours = true;
    if (fault.assertion == dcmi::kCleared) continue;
    events_->CountDriverError(id, fmt::format("{:08X}", fault.code));
    Evidence evidence = ascend::EvidenceOf(
        {fault.code, ascend::ClassOf(fault.code, fault.severity)}, EvidenceSource::kEvent);
    if (evidence.kind != EvidenceKind::kFatal) continue;
    // No later check can tell that such a fault has cleared.
    if (fault.assertion == dcmi::kOnce) evidence.remedy = Remedy::kNone;
    sound_.erase(id);
    ++events_of_[id];
    events_->Report(found.device.key, std::move(evidence));
  }
  // Every device is checked after a scan.
  if (is_ours && fault.assertion == dcmi::kCleared) events_->RescanSoon();
}

Result<std::vector<Device>> AscendBackend::Scan() {
  const auto library = session_->Open();
  if (!library) {
    if (library.error().reason != Reason::kDriverMissing) return Fail(library.error());
    if (ascend::HasChip(root_)) return Fail(library.error());
    if (!told_no_chip_.exchange(true)) {
      log::Info("the node has no Ascend NPU", {{"resource", resource_}});
    }
    return std::vector<Device>();
  }
  // A vNPU that the chips have may be written down no longer, or a little later.
  ascend::OwnVnpus earlier = TRY(records_.Now());
  const ascend::Chips chips = TRY(reader_.Read(*library, times_.patience));
  ascend::OwnVnpus own = TRY(records_.Now());
  own.merge(earlier);
  std::vector<Device> devices;
  std::map<std::string, Found> founds;
  for (Found& found : ascend::DevicesOf(root_, resource_, config_, chips, own, Founds())) {
    devices.push_back(found.device);
    founds.insert_or_assign(found.device.key.id, std::move(found));
  }
  const MutexLock lock(mutex_);
  founds_ = std::move(founds);
  std::erase_if(sound_, [this](const std::string& id)
                            TESSERA_REQUIRES(mutex_) { return !founds_.contains(id); });
  std::erase_if(events_of_, [this](const auto& one)
                                TESSERA_REQUIRES(mutex_) { return !founds_.contains(one.first); });
  return devices;
}

std::shared_ptr<const cdi::Parts> AscendBackend::DescribeForCdi(const std::vector<Device>&) {
  return config_.vgpu != nullptr ? std::make_shared<const cdi::Parts>() : nullptr;
}

std::optional<Found> AscendBackend::Find(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto found = founds_.find(id);
  if (found == founds_.end()) return std::nullopt;
  return found->second;
}

std::map<std::string, Found> AscendBackend::Founds() const {
  const MutexLock lock(mutex_);
  return founds_;
}

unsigned AscendBackend::EventsOf(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto events = events_of_.find(id);
  return events == events_of_.end() ? 0 : events->second;
}

Evidence AscendBackend::Check(const Device& device) {
  const std::string& id = device.key.id;
  const auto library = session_->Open();
  if (!library) {
    return Seen(EvidenceKind::kUnknown, library.error().reason, library.error().message);
  }
  const unsigned events = EventsOf(id);
  const auto found = Find(id);
  Evidence evidence =
      found ? CheckInTurn(**library, *found)
            : Seen(EvidenceKind::kFatal, Reason::kVanished, "the driver no longer has it");
  const MutexLock lock(mutex_);
  const auto now = events_of_.find(id);
  if (evidence.kind != EvidenceKind::kGood) {
    sound_.erase(id);
  } else if (now != events_of_.end() && now->second != events) {
    return evidence;  // what it saw may be older than the event's fault
  } else if (sound_.insert(id).second && events_ != nullptr) {
    // A fault that needs a reset clears by a reset alone.
    events_->Report(device.key,
                    {.kind = EvidenceKind::kReset, .source = EvidenceSource::kEvent, .detail = {}});
  }
  return evidence;
}

// A chip has many vNPUs: one check alone may hang with it.
Evidence AscendBackend::CheckInTurn(const dcmi::Library& library, const Found& found) {
  const auto turn = checks_.Take(found.place, SystemClock().Now());
  if (turn) return CheckFound(library, found);
  return Seen(EvidenceKind::kUnknown, Reason::kCheckTimedOut,
              "an earlier check of the chip has not ended");
}

Evidence AscendBackend::CheckFound(const dcmi::Library& library, const Found& found) {
  if (!found.die.empty()) {
    const auto die = library.Vdie(found.place);
    if (!die) return NoAnswer(die.error());
    if (ascend::DieText(*die).empty()) {
      return Seen(EvidenceKind::kUnknown, Reason::kUnreadable, "DCMI no longer tells its die");
    }
    if (ascend::DieText(*die) != found.die) {
      return Seen(EvidenceKind::kFatal, Reason::kVanished, "another chip is in its place");
    }
  }
  for (const DeviceNode& node : found.device.nodes) {
    if (os::Exists(root_.Path(node.host_path))) continue;
    return Seen(EvidenceKind::kFatal, Reason::kVanished, node.host_path + " is gone");
  }
  const std::string chip = fmt::format("/dev/davinci{}", found.physical);
  if (config_.Divides() && !os::Exists(root_.Path(chip))) {
    return Seen(EvidenceKind::kFatal, Reason::kVanished, chip + " is gone");
  }
  if (auto lost = LostVnpu(library, found)) return *std::move(lost);
  return CheckFaults(library, found);
}

Evidence AscendBackend::CheckFaults(const dcmi::Library& library, const Found& found) {
  const auto health = library.Health(found.place);
  if (!health) return NoAnswer(health.error());
  if (*health == dcmi::kAbsent) {
    return Seen(EvidenceKind::kFatal, Reason::kDeviceLost, "DCMI says that the chip is absent");
  }
  const auto codes = library.ErrorCodes(found.place);
  if (!codes && !codes.error().IsUnsupported()) return NoAnswer(codes.error());
  const bool is_down = codes && std::ranges::count(*codes, ascend::kNetworkLinkDown) > 0;
  const auto link = LastingLinkDown(found.device.key.id, is_down);
  if (codes && !codes->empty()) {
    const auto worst = ascend::WorstOf(*codes, *health);
    Evidence evidence = ascend::EvidenceOf(*worst, EvidenceSource::kCheck);
    if (evidence.kind == EvidenceKind::kGood && link) return *link;
    return evidence;
  }
  if (*health <= dcmi::kMinor) return Seen(EvidenceKind::kGood, {}, "");
  return Seen(EvidenceKind::kFatal, Reason::kNpuFault,
              fmt::format("DCMI's health is {} of 3, without a fault code", *health));
}

// A link that is down for a moment is a matter of the program's.
std::optional<Evidence> AscendBackend::LastingLinkDown(const std::string& id, bool is_down) {
  const MutexLock lock(mutex_);
  if (!is_down) {
    link_down_.erase(id);
    return std::nullopt;
  }
  const Steady now = clock_.Now();
  const Steady since = link_down_.emplace(id, now).first->second;
  if (now - since < kLinkDownLasts) return std::nullopt;
  Evidence evidence =
      Seen(EvidenceKind::kFatal, Reason::kNpuFault,
           fmt::format("fault {:08X}: a network link stays down", ascend::kNetworkLinkDown));
  evidence.probation = kLinkUpLasts;
  return evidence;
}

// Another program may destroy vNPUs that no process uses, as HAMi's plugin does.
std::optional<Evidence> AscendBackend::LostVnpu(const dcmi::Library& library,
                                                const Found& found) const {
  if (config_.Makes() || config_.Divides()) return LostOwnVnpu(library, found);
  if (!found.vnpu) return std::nullopt;
  const auto ids = library.Vnpus(found.place);
  if (!ids) return NoAnswer(ids.error());
  if (std::ranges::count(*ids, *found.vnpu) > 0) return std::nullopt;
  return Lost(Reason::kVanished, *found.vnpu);
}

// A vNPU that is being made or destroyed is not lost.
std::optional<Evidence> AscendBackend::LostOwnVnpu(const dcmi::Library& library,
                                                   const Found& found) const {
  const auto own = records_.Now();
  if (!own) return Seen(EvidenceKind::kUnknown, own.error().reason, own.error().message);
  for (const auto& [of, vnpu] : *own) {
    if (vnpu.device != found.device.key.id || !vnpu.id) continue;
    if (vnpu.state == ascend::VnpuState::kLost) return Lost(Reason::kVnpuLost, *vnpu.id);
    if (vnpu.state != ascend::VnpuState::kMade) continue;
    const auto ids = library.Vnpus(found.place);
    if (!ids) return NoAnswer(ids.error());
    if (std::ranges::count(*ids, *vnpu.id) > 0) continue;
    const auto lost = records_.Lose(of.first, vnpu);
    if (!lost) return Seen(EvidenceKind::kUnknown, lost.error().reason, lost.error().message);
    if (*lost) return Lost(Reason::kVnpuLost, *vnpu.id);
  }
  return std::nullopt;
}

}  // namespace tessera
