// SPDX-License-Identifier: Apache-2.0
// The faults of dummy devices: which one fails, is unplugged, answers slowly. They stand for the
// hardware, so they live in a file, and survive the agent. Pure; plain data; any thread.
//
// The file is JSON; every key but "version" may be left out:
//   {
//     "version": 1,
//     "lost": false,                       true: the whole bus is gone
//     "devices": {
//       "7": {
//         "fail": "reason",                the device is broken
//         "flapMs": 1500,                  it is broken in every other 1500 ms of steady time
//         "broken": "reason",              its health check gives no answer
//         "slowMs": 3000,                  checks and resets of it take that long
//         "resetFails": "reason",          it cannot be reset
//         "hidden": true                   it is unplugged
//       }
//     }
//   }
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"

namespace tessera::dummy {

// What is wrong with one device; the default is nothing.
struct Fault {
  std::optional<std::string> fail = std::nullopt;
  std::optional<std::string> broken = std::nullopt;
  std::optional<std::string> reset_fails = std::nullopt;
  Duration slow{0};
  Duration flap{0};  // 0: it does not flap
  bool hidden = false;
  bool operator==(const Fault&) const = default;
};

struct Faults {
  std::map<std::string, Fault, NaturalLess> devices;  // by device id; only those with a fault
  bool lost = false;
  bool operator==(const Faults&) const = default;

  // The fault of a device; no fault when none is noted.
  Fault Of(std::string_view id) const;
};

// kInvalid when the text is not such a document: unknown keys and wrong types are named.
Result<Faults> ParseFaults(std::string_view text);
std::string WriteFaults(const Faults& faults);

// Applies a verb:
//   fail ID [REASON]         flap ID [PERIOD, 2s]      slow ID [DURATION, 10s]
//   break ID [REASON]        reset-fails ID [REASON]   heal ID: all of these end
//   hide ID   show ID        lose-all                  restore: no faults at all
// kInvalid, with `faults` as they were, when the verb or what follows it makes no sense.
Status ApplyVerb(Faults& faults, std::string_view verb, std::string_view id,
                 std::string_view detail);

// Every verb.
std::vector<std::string> FaultVerbs();

// Whether a device that flaps with this period is broken now: the answer depends on the clock only.
bool InFailingPhase(Duration period, Steady now);
// When the phase ends that `now` lies in.
Steady NextPhase(Duration period, Steady now);

}  // namespace tessera::dummy
