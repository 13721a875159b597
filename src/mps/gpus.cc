// SPDX-License-Identifier: Apache-2.0
#include "mps/gpus.h"

#include <fmt/core.h>

#include <set>
#include <thread>
#include <utility>

#include "backend/nvidia/core/claims.h"
#include "backend/nvidia/platform.h"
#include "base/clock.h"
#include "base/text.h"
#include "os/thread.h"

namespace tessera::mps {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
constexpr Duration kPatience{10'000};  // for GPUs that do not answer
constexpr Duration kPause{500};        // between readings of a failing GPU

// Whether a GPU of which only the index is known may be the resource's.
bool MayBeOurs(NvidiaConfig config, unsigned index) {
  for (NvidiaConfig::Selector& selector : config.select) selector = {.index = selector.index};
  return nvidia::MayBePartOf(config, index);
}

}  // namespace

Gpus::Gpus(const os::Root& root, std::string driver_root)
    : root_(root), driver_root_(std::move(driver_root)) {}

Result<Gpus::Facts> Gpus::ReadOne(const nvml::Library& library, const os::Root& root,
                                  unsigned index) {
  const auto failed = [&](const nvml::Failure& failure) {
    return Fail(Reason::kScanFailed, "cannot be read: {}", library.Text(failure));
  };
  auto gpu = nvidia::Read(library, root, index);
  if (!gpu) return failed(gpu.error());
  const nvml::Use use(library, index);
  const auto handle = library.DeviceByIndex(index);
  if (!handle) return failed(handle.error());
  const auto memory = library.MemoryOf(*handle);
  const auto capability = library.ComputeCapabilityOf(*handle);
  if (!capability) return failed(capability.error());
  return Facts{.gpu = *std::move(gpu),
               .memory_mib = memory ? memory->total / kMiB : 0,
               .capability = capability->major * 10 + capability->minor};
}

// Reads on a thread of its own, which stays as long as the GPU hangs.
Status Gpus::Begin(const nvml::LibraryPtr& library, unsigned index) {
  const bool is_known = unread_.contains(index);
  const Steady until = is_known ? Steady() : SystemClock().Now() + kPatience;
  auto reading = std::make_shared<FactsReading>();
  TRY(os::StartThread([library, root = root_, index, until, reading] {
    auto facts = ReadOne(*library, root, index);
    for (; !facts && SystemClock().Now() < until; facts = ReadOne(*library, root, index)) {
      std::this_thread::sleep_for(kPause);
    }
    reading->Finish(std::move(facts));
  }));
  under_way_[index] = std::move(reading);
  return {};
}

Status Gpus::Read() {
  if (nvidia::HasDxCore(root_, driver_root_) || nvidia::HasTegraFiles(root_, driver_root_)) {
    return Fail(Reason::kMpsUnfit, "there is no MPS on WSL and Tegra");
  }
  const nvml::LibraryPtr library = TRY(nvml::Session::Of(root_, driver_root_)->Open());
  const auto count = library->DeviceCount();
  if (!count) return Fail(Reason::kScanFailed, "{}", library->Text(count.error()));
  std::map<unsigned, std::string> unread;
  for (unsigned index = 0; index < *count; ++index) {
    if (under_way_.contains(index)) continue;
    if (const Status begun = Begin(library, index); !begun) unread[index] = begun.error().message;
  }
  count_ = *count;
  facts_.clear();
  const Steady limit = SystemClock().Now() + kPatience + kPause;
  std::erase_if(under_way_, [&](const auto& entry) {
    auto facts = entry.second->Await(limit);
    if (!facts) {
      unread[entry.first] = fmt::format("does not answer within {}", MeasuredText(kPatience));
    } else if (!*facts) {
      unread[entry.first] = facts->error().message;
    } else {
      facts_.push_back(std::move(**facts));
    }
    return facts.has_value();
  });
  unread_ = std::move(unread);
  return {};
}

// The resource's devices of this GPU.
std::vector<FoundDevice> Gpus::FoundIn(const os::Root& root, const std::string& resource,
                                       const NvidiaConfig& config, const Facts& facts) {
  std::vector<FoundDevice> found;
  if (nvidia::IsDisplay(facts.gpu)) return found;
  for (const Device& device : nvidia::DevicesOfGpu(root, resource, config, facts.gpu)) {
    found.push_back({.id = device.key.id,
                     .index = facts.gpu.index,
                     .model = facts.gpu.model,
                     .memory_mib = facts.memory_mib,
                     .capability = facts.capability,
                     .is_mig = !device.parent.empty()});
  }
  return found;
}

Sizes Gpus::SizesOf(const std::string& resource, int replicas, const NvidiaConfig& config) const {
  std::vector<FoundDevice> found;
  std::set<std::string> elsewhere;
  for (const Facts& facts : facts_) {
    std::vector<FoundDevice> ours = FoundIn(root_, resource, config, facts);
    if (ours.empty()) elsewhere.insert(facts.gpu.uuid);
    for (FoundDevice& each : ours) found.push_back(std::move(each));
  }
  Sizes sizes = SizesFor(replicas, config.mps, found, count_);
  sizes.elsewhere = std::move(elsewhere);
  for (const auto& [index, why] : unread_) {
    if (MayBeOurs(config, index)) sizes.unread[index] = fmt::format("GPU {} {}", index, why);
  }
  return sizes;
}

}  // namespace tessera::mps
