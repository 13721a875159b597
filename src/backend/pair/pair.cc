// SPDX-License-Identifier: Apache-2.0
#include "backend/pair/pair.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "device/compose.h"
#include "device/nearest_pairs.h"
#include "device/pci_path.h"
#include "grant/grant.h"

namespace tessera {
namespace {

// A scan waits for no more.
constexpr size_t kMostPairs = 1'000'000;

std::optional<size_t> PositionOf(const std::vector<Device>& devices, const DeviceKey& key) {
  const auto at = std::ranges::find(devices, key, &Device::key);
  if (at == devices.end()) return std::nullopt;
  return static_cast<size_t>(at - devices.begin());
}

// GPUs that go together are in pairs together or not at all.
void LeaveOutBrokenBundles(const std::vector<Device>& gpus, std::vector<DevicePair>& made) {
  std::map<std::string, size_t> unpaired;
  for (const Device& gpu : gpus) {
    if (!gpu.traits->bundle.empty()) ++unpaired[gpu.traits->bundle];
  }
  for (const auto& [first, second] : made) {
    const auto bundle = unpaired.find(gpus[first].traits->bundle);
    if (bundle != unpaired.end()) --bundle->second;
  }
  std::erase_if(made, [&](const DevicePair& pair) {
    const auto bundle = unpaired.find(gpus[pair.first].traits->bundle);
    return bundle != unpaired.end() && bundle->second > 0;
  });
}

// By the links of the GPUs; by the bus, if they have none.
int PointsBetween(const Device& a, const Device& b) {
  if (a.links.empty()) return PciPoints(a.traits->pci_path, b.traits->pci_path);
  const auto link = std::ranges::find_if(
      a.links, [&](const Link& one) { return one.source.empty() && one.peer == b.key.id; });
  return link == a.links.end() ? 0 : link->points;
}

void LinkPairs(const std::vector<Device>& gpus, const std::vector<DevicePair>& made,
               std::vector<Device>& pairs) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (size_t k = 0; k < pairs.size(); ++k) {
      if (i == k) continue;
      const int points = PointsBetween(gpus[made[i].first], gpus[made[k].first]);
      if (points > 0) pairs[i].links.push_back({.peer = pairs[k].key.id, .points = points});
    }
  }
}

}  // namespace

PairBackend::PairBackend(std::string resource, PairConfig config,
                         std::shared_ptr<FoundDevices> found, Duration patience)
    : resource_(std::move(resource)),
      config_(std::move(config)),
      found_(std::move(found)),
      patience_(patience) {}

Status PairBackend::Start(BackendEvents& events) {
  {
    const MutexLock lock(mutex_);
    events_ = &events;
  }
  watch_ = found_->Watch([this] { PartsChanged(); });
  return {};
}

void PairBackend::Stop() {
  watch_.reset();
  const MutexLock lock(mutex_);
  events_ = nullptr;
  changed_.notify_all();
}

void PairBackend::PartsChanged() {
  const MutexLock lock(mutex_);
  ++changes_;
  changed_.notify_all();
  if (events_ != nullptr) events_->RescanSoon();
}

// At the agent's start all resources are scanned at once.
Result<std::vector<Device>> PairBackend::Scan() {
  const Steady until = SystemClock().Now() + patience_;
  for (;;) {
    uint64_t seen = 0;
    {
      const MutexLock lock(mutex_);
      seen = changes_;
    }
    Result<std::vector<Device>> found = ScanNow();
    if (found || !AwaitChange(seen, until)) return found;
  }
}

// False: there was no change until then, or the backend was stopped.
bool PairBackend::AwaitChange(uint64_t seen, Steady until) {
  MutexLock lock(mutex_);
  while (changes_ == seen && events_ != nullptr) {
    if (changed_.wait_until(lock, until) == std::cv_status::timeout) return false;
  }
  return events_ != nullptr;
}

Result<std::vector<Device>> PairBackend::ScanNow() {
  const auto gpus = found_->Of(config_.gpu);
  if (!gpus) return Fail(Reason::kUnavailable, "{} has not been scanned yet", config_.gpu);
  const auto nics = found_->Of(config_.nic);
  if (!nics) return Fail(Reason::kUnavailable, "{} has not been scanned yet", config_.nic);
  if (gpus->devices.size() * nics->devices.size() > kMostPairs) {
    return Fail(Reason::kInvalid,
                "{} and {} have too many devices to pair each with each: {} and {}", config_.gpu,
                config_.nic, gpus->devices.size(), nics->devices.size());
  }
  std::vector<Device> pairs = PairsOf(*gpus, *nics, Former());
  const MutexLock lock(mutex_);
  last_ = pairs;
  return pairs;
}

// The last scan's pairs; before the first, those of an earlier process. Those that are gone have to
// stand back.
std::vector<Device> PairBackend::Former() const {
  {
    const MutexLock lock(mutex_);
    if (last_) return *last_;
  }
  std::vector<Device> known = found_->Known(resource_);
  std::ranges::stable_partition(known, &Device::present);
  return known;
}

std::vector<Device> PairBackend::PairsOf(const FoundDevices::Found& gpus,
                                         const FoundDevices::Found& nics,
                                         const std::vector<Device>& former) const {
  std::vector<DevicePair> kept;
  for (const Device& pair : former) {
    const auto& parts = pair.traits->parts;
    if (parts.size() != 2) continue;
    const auto first = PositionOf(gpus.devices, parts[0]);
    const auto second = PositionOf(nics.devices, parts[1]);
    if (first && second) kept.push_back({*first, *second});
  }
  std::vector<DevicePair> made =
      NearestPairs(RefsOf(gpus.devices), RefsOf(nics.devices),
                   static_cast<size_t>(std::max(nics.terms.shares, 1)), kept);
  LeaveOutBrokenBundles(gpus.devices, made);
  std::vector<Device> pairs;
  for (const auto& [first, second] : made) {
    const Device& gpu = gpus.devices[first];
    const Device& nic = nics.devices[second];
    const DeviceKey key{resource_, gpu.key.id + "_" + nic.key.id};
    if (gpu.defect || nic.defect) {
      // Only a former pair has such a part. It stays as it was, and is out until it is made anew.
      pairs.push_back(*std::ranges::find(former, key, &Device::key));
      pairs.back().links.clear();
      pairs.back().present = true;
      pairs.back().defect = gpu.defect ? gpu.defect : nic.defect;
      continue;
    }
    const bool shared = nics.terms.shares > 1 && !nics.terms.whole.contains(nic.key.id);
    Device pair = Compose(key, {gpu, gpus.terms.variable},
                          {.device = nic, .variable = nics.terms.variable, .shared = shared});
    pair.model += fmt::format(", {}", NearnessText(NearnessOf(gpu, nic)));
    pairs.push_back(std::move(pair));
  }
  LinkPairs(gpus.devices, made, pairs);
  return pairs;
}

std::shared_ptr<const cdi::Parts> PairBackend::DescribeForCdi(const std::vector<Device>& pairs) {
  auto all = std::make_shared<cdi::Parts>();
  for (const std::string& resource : {config_.gpu, config_.nic}) {
    const auto found = found_->Of(resource);
    if (!found) continue;  // since the scan: another scan follows
    Rendering by_variable;
    by_variable.env = found->terms.variable;
    if (found->terms.cdi != nullptr) cdi::Append(found->terms.cdi->common, all->common);
    for (const Device& pair : pairs) {
      for (const DeviceKey& part : pair.traits->parts) {
        const auto at = PositionOf(found->devices, part);
        if (!at) continue;
        cdi::Append(CdiEditsOf(found->devices[*at], by_variable, found->terms.cdi.get()),
                    all->devices[pair.key.id]);
      }
    }
  }
  cdi::Sort(all->common);
  for (auto& [id, edits] : all->devices) cdi::Sort(edits);
  return all;
}

// As Former says, without a copy of all pairs for each check.
bool PairBackend::IsMade(const DeviceKey& key) const {
  const auto has = [&](const std::vector<Device>& pairs) {
    return std::ranges::any_of(pairs,
                               [&](const Device& pair) { return pair.present && pair.key == key; });
  };
  {
    const MutexLock lock(mutex_);
    if (last_) return has(*last_);
  }
  return has(found_->Known(resource_));
}

Evidence PairBackend::Check(const Device& device) {
  if (IsMade(device.key)) return {.kind = EvidenceKind::kGood, .detail = {}};
  return {.kind = EvidenceKind::kFatal,
          .reason = Reason::kVanished,
          .detail = "its parts are no pair any more"};
}

}  // namespace tessera
