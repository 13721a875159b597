// SPDX-License-Identifier: Apache-2.0
// A process of the container that outlives all kills. At each order it allocates memory, and
// reports what the region and the device then say. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tessera::limiter {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kLimit = 256 * kMiB;  // of the container
inline constexpr uint64_t kOwn = 4 * kMiB;      // bytes that the survivor holds

inline constexpr uint64_t kFirst = 2 * kMiB;

// How the survivor allocates. Memory of dead processes is given back by a call that needs the room,
// or by one that comes 0.1 s after the last look for the dead.
enum class Calls : uint32_t {
  kOne,  // one call for all the room, which must give back what the dead held
  kTwo,  // a call that mostly has room anyway, then one for all the rest
};

// What it found after its last call.
struct Found {
  int64_t lost;     // bytes counted for the container but for no slot, after the first of two calls
  int result;       // of the last call; the fields below are as of then
  int64_t waits;    // how often its calls waited for another process
  uint64_t total;   // bytes counted for the container
  uint64_t shares;  // sum of its slots' shares
  uint64_t resident;  // bytes that the device gave to the container
  uint64_t lent;
  int strangers;  // slots whose share is not what the device gave to their process
  int flights;    // launches in flight in slots without an owner
};
std::string Text(const Found& found);

class Survivor {
 public:
  Survivor();
  ~Survivor();
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  // Allocates kFirst and `bytes`, in one call or in two, and frees both afterwards.
  Found Ask(Calls calls, uint64_t bytes) const;

 private:
  pid_t pid_ = 0;
  int order_ = -1;   // pipe to the survivor
  int answer_ = -1;  // pipe from it
};

// Makes the first device's primary context current, or exits.
void StartCuda();

}  // namespace tessera::limiter
