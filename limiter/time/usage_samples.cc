// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/usage_samples.h"

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/process_memory.h"
#include "limiter/accounting/ticks.h"
#include "limiter/memory/devices.h"
#include "limiter/time/monitor.h"

namespace tessera::limiter {
namespace {

// This process's. Any thread.
struct UsageSamples {
  Samples samples;
  Cost cost;  // required by Samples, never read
  Usage usage[kMaxDevices];
};

constinit ProcessMemory<UsageSamples> own_samples;

void Show(UsageSamples* own, const Measurement& measured) {
  Region* const region = TheRegion();
  const int slot = OwnSlot();
  if (region == nullptr || slot < 0) return;
  const uint64_t took = measured.end - measured.start;
  const uint64_t ran = took > measured.held_up ? took - measured.held_up : 0;
  own->usage[measured.place].Add(static_cast<int64_t>(ran * measured.weight.runs), Now(),
                                 &region->hami.slots[slot].utilization[measured.place]);
}

}  // namespace

int BeginUsageSample(const Stream& stream, uint32_t launches) {
  UsageSamples* const own = own_samples.Get();
  const int place = CurrentPlace();
  if (own == nullptr || place < 0 || place >= kMaxDevices || IsCaptured(stream)) {
    return Samples::kNone;
  }
  own->samples.Collect([own](const Measurement& measured) { Show(own, measured); });
  return own->samples.Begin(stream, &own->cost, place, {launches, launches});
}

void EndUsageSample(int look, const Stream& stream, bool is_launched) {
  UsageSamples* const own = own_samples.Get();
  if (is_launched) {
    (void)own->samples.End(look, stream, 0, {});
  } else {
    own->samples.Cancel(look);
  }
}

bool HoldUsageSamples() {
  UsageSamples* const own = own_samples.IfAny();
  return own != nullptr &&
         own->samples.Hold([own](const Measurement& measured) { Show(own, measured); });
}
void UsageSamplesEnded(CUcontext context) {
  UsageSamples* const own = own_samples.IfAny();
  if (own == nullptr) return;
  own->samples.Drop(context, [own](const Measurement& measured) { Show(own, measured); });
}
void LetGoUsageSamples() {
  UsageSamples* const own = own_samples.IfAny();
  if (own != nullptr) own->samples.LetGo();
}

}  // namespace tessera::limiter
