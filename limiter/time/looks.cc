// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/looks.h"

#include "limiter/books/books.h"
#include "limiter/books/process_memory.h"
#include "limiter/books/ticks.h"
#include "limiter/memory/devices.h"
#include "limiter/time/monitor.h"

namespace tessera::limiter {
namespace {

// This process's.
struct Looks {
  Samples samples;
  Cost cost;  // nobody learns anything of it
  Usage usage[kMaxDevices];
};

constinit ProcessMemory<Looks> the_looks;

void Show(Looks* looks, const Measured& measured) {
  Region* const region = TheRegion();
  const int slot = OwnSlot();
  if (region == nullptr || slot < 0) return;
  const uint64_t took = measured.end - measured.start;
  const uint64_t ran = took > measured.held_up ? took - measured.held_up : 0;
  looks->usage[measured.place].Add(static_cast<int64_t>(ran * measured.weight.runs), Now(),
                                   &region->hami.slots[slot].utilization[measured.place]);
}

}  // namespace

int BeginLook(const Stream& stream, uint32_t launches) {
  Looks* const looks = the_looks.Get();
  const int place = CurrentPlace();
  if (looks == nullptr || place < 0 || place >= kMaxDevices || IsCaptured(stream)) {
    return Samples::kNone;
  }
  looks->samples.Collect([looks](const Measured& measured) { Show(looks, measured); });
  return looks->samples.Begin(stream, &looks->cost, place, {launches, launches});
}

void EndLook(int look, const Stream& stream, bool is_launched) {
  Looks* const looks = the_looks.Get();
  if (is_launched) {
    (void)looks->samples.End(look, stream, 0, {});
  } else {
    looks->samples.Cancel(look);
  }
}

bool HoldLooks() {
  Looks* const looks = the_looks.IfAny();
  return looks != nullptr &&
         looks->samples.Hold([looks](const Measured& measured) { Show(looks, measured); });
}
void LooksEnded(CUcontext context) {
  Looks* const looks = the_looks.IfAny();
  if (looks == nullptr) return;
  looks->samples.Drop(context, [looks](const Measured& measured) { Show(looks, measured); });
}
void LetGoLooks() {
  Looks* const looks = the_looks.IfAny();
  if (looks != nullptr) looks->samples.LetGo();
}

}  // namespace tessera::limiter
