// SPDX-License-Identifier: Apache-2.0
// A probe is a process with the limiter's library, and is watched by one without it, which sees
// what NVML itself says. The watcher starts it, measures when it asks, and goes on with the next
// step where one crashed or hung.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::card {

// Bytes on the first device.
struct Amounts {
  uint64_t counted = 0;    // by the library, of all processes of the region
  uint64_t context = 0;    // of these
  uint64_t module = 0;     // of these
  uint64_t data = 0;       // of these
  uint64_t processes = 0;  // what NVML says of the same processes
  uint64_t card = 0;       // and of the whole card
  uint64_t charged = 0;    // ns of its time, to all processes of the region
};

// By the watcher: runs `PROGRAM family FIRST` with so many bytes as its limit, or with so many
// percent of the time (0: no such limit; both: without the library), and again from the step behind
// one that ended it. Where time is limited, it does what the agent does. False: there is no NVML to
// ask.
bool Watch(const std::string& family, uint64_t limit, int percent = 0);

// Before a program is run in this process's place: it finds the descriptor under that number.
void HandOver(int descriptor, int as);

// By the probe.
inline constexpr int kGoOn = 40;    // it ends with: the next step is for another process
inline constexpr int kWatcher = 3;  // the descriptor of its watcher
void BeginStep(unsigned number, const char* name);  // so the watcher knows which one it was
Amounts Measure();

}  // namespace tessera::card
