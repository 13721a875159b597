// SPDX-License-Identifier: Apache-2.0
#include "fraction/calibrations.h"

#include <algorithm>

#include "fraction/region_words.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

using limiter::CalibrationAccounting;
using limiter::InFlight;
using limiter::Region;
using Container = Calibrations::Container;

constexpr uint64_t kMs = 1'000'000;
// The age up to which a request counts: a container that waits for one run's end repeats its
// request only afterwards.
constexpr uint64_t kAskedLately = 300 * kMs;
// The longest wait for running kernels. Kernels still counted after it are short ones that no
// process measures.
constexpr uint64_t kDrain = 120 * kMs;
constexpr uint64_t kStart = 20 * kMs;  // time for a launch to arrive, and for some short kernels
static_assert(2 * (limiter::kLongestCalibrated + kStart) <= limiter::kMostHeld);
// Containers are held for at most a fiftieth of the time, and a fifth while they are new to each
// other.
constexpr int64_t kPart = 50;
constexpr int64_t kMostCredit = 1'000 * kMs;
constexpr uint64_t kRest = 4;  // pause, in multiples of the time that they were held

int64_t Signed(uint64_t ns) {
  return static_cast<int64_t>(ns);
}

size_t WordAt(const Container& container, size_t word) {
  return CalibrationAt(container.place) + word;
}

uint64_t WordOf(const Container& container, size_t word) {
  uint64_t value = 0;
  return container.region->Read(WordAt(container, word), value) ? value : 0;
}

bool HasNothingRunning(const Container& container) {
  // An inactive container's entries are stale: its process has ended or waits for no kernel.
  if (!container.is_active) return true;
  if (!container.is_measured) return false;
  uint32_t slots = 0;
  if (!container.region->Read(offsetof(Region, accounting.slots_used), slots)) return true;
  std::vector<InFlight> in_flight(std::min<size_t>(slots, limiter::kMaxSlots) *
                                  limiter::kMaxDevices);
  if (!container.region->ReadBytes(offsetof(Region, accounting.in_flight), in_flight.data(),
                                   in_flight.size() * sizeof(InFlight))) {
    return true;
  }
  for (size_t at = container.place; at < in_flight.size(); at += limiter::kMaxDevices) {
    if (in_flight[at].since != 0) return false;
  }
  return true;
}

const Container* Find(const std::vector<Container>& containers, const std::string& grant) {
  const auto found = std::ranges::find(containers, grant, &Container::grant);
  return found == containers.end() ? nullptr : &*found;
}

}  // namespace

void Calibrations::Hold(const Gpu& gpu, const std::vector<Container>& containers, uint64_t until) {
  const uint64_t held[2] = {gpu.began, until};
  for (const Container& container : containers) {
    container.region->Write(WordAt(container, offsetof(CalibrationAccounting, held_from)), held);
  }
}

// Starts the calibration of the container that asks and has waited longest.
void Calibrations::Begin(Gpu& gpu, const std::vector<Container>& containers, uint64_t now) {
  gpu.credit = gpu.credit_at == 0
                   ? kMostCredit
                   : std::min(kMostCredit, gpu.credit + Signed(now - gpu.credit_at) / kPart);
  gpu.credit_at = now;
  if (gpu.credit < Signed(kDrain) || now < gpu.next || containers.size() < 2) return;
  const Container* chosen = nullptr;
  uint64_t measured = 0;
  for (const Container& container : containers) {
    const uint64_t at = WordOf(container, offsetof(CalibrationAccounting, wanted_at));
    const uint64_t takes = WordOf(container, offsetof(CalibrationAccounting, wanted_ns));
    if (at > now || now - at > kAskedLately || takes > limiter::kLongestCalibrated) continue;
    const auto last = gpu.measured.find(container.grant);
    const uint64_t last_at = last == gpu.measured.end() ? 0 : last->second;
    if (chosen != nullptr && last_at >= measured) continue;
    chosen = &container;
    measured = last_at;
    gpu.takes = takes;
  }
  if (chosen == nullptr) return;
  gpu.phase = Phase::kDraining;
  gpu.grant = chosen->grant;
  gpu.began = now;
  gpu.until = now + std::max(kDrain, gpu.takes + kStart);
  Hold(gpu, containers, gpu.until + kStart);
}

void Calibrations::Drain(Gpu& gpu, const std::vector<Container>& containers, uint64_t now) {
  // Too late: the containers' hold has expired.
  if (now >= gpu.until + kStart) return End(gpu, containers, now);
  if (!std::ranges::all_of(containers, HasNothingRunning) && now < gpu.until) return;
  const Container* const container = Find(containers, gpu.grant);
  if (container == nullptr) return End(gpu, containers, now);
  gpu.phase = Phase::kAlone;
  gpu.from = now;
  gpu.until = now + gpu.takes + kStart;
  Hold(gpu, containers, gpu.until);
  const uint64_t moment[2] = {gpu.from, gpu.until};
  container->region->Write(WordAt(*container, offsetof(CalibrationAccounting, alone_from)), moment);
}

void Calibrations::Await(Gpu& gpu, const std::vector<Container>& containers, uint64_t now) {
  const Container* const container = Find(containers, gpu.grant);
  const uint64_t done_at = container == nullptr
                               ? gpu.from
                               : WordOf(*container, offsetof(CalibrationAccounting, done_at));
  if (done_at < gpu.from && now < gpu.until) return;
  gpu.measured[gpu.grant] = now;
  if (container != nullptr) {
    container->region->Write(WordAt(*container, offsetof(CalibrationAccounting, alone_until)), now);
  }
  End(gpu, containers, now);
}

void Calibrations::End(Gpu& gpu, const std::vector<Container>& containers, uint64_t now) {
  const uint64_t ended = std::min(now, gpu.until + kStart);
  Hold(gpu, containers, ended);
  const uint64_t held = ended - gpu.began;
  gpu.phase = Phase::kNone;
  gpu.next = now + kRest * held;
  gpu.credit -= Signed(held);
  gpu.credit_at = now;
  std::erase_if(gpu.measured, [&](const auto& of) { return !Find(containers, of.first); });
}

Duration Calibrations::Step(uint64_t now, const Gpus& gpus) {
  std::erase_if(gpus_, [&](const auto& of) { return !gpus.contains(of.first); });
  is_busy_ = false;
  for (const auto& [uuid, containers] : gpus) {
    Gpu& gpu = gpus_[uuid];
    switch (gpu.phase) {
      case Phase::kNone:
        Begin(gpu, containers, now);
        break;
      case Phase::kDraining:
        Drain(gpu, containers, now);
        break;
      case Phase::kAlone:
        Await(gpu, containers, now);
        break;
    }
    is_busy_ = is_busy_ || gpu.phase != Phase::kNone;
  }
  return is_busy_ ? kBusy : kIdle;
}

}  // namespace tessera
