// SPDX-License-Identifier: Apache-2.0
// A process of the container that lives through all deaths, and tells what it finds at its next
// call. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tessera::limiter {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kLimit = 256 * kMiB;  // of the container
inline constexpr uint64_t kOwn = 4 * kMiB;      // what the survivor holds

inline constexpr uint64_t kFirst = 2 * kMiB;

// The calls of cuMemAlloc that it makes: what the dead had is given back by one that needs the
// room, or that comes a tenth of a second after the last look.
enum class Calls : uint32_t {
  kOne,  // needs all the room there is, so that what the dead had is given back by the next call
  kTwo,  // the first one mostly has room, whatever the dead had; the second one needs it all
};

// What it found after the last one of them.
struct Found {
  int64_t lost;     // bytes that after the first of two were counted for the container and no slot
  int result;       // of the last one; what follows is as it was then
  int64_t waits;    // for anybody, in all
  uint64_t total;   // bytes that the container counts,
  uint64_t shares;  // that its slots have,
  uint64_t resident;  // and that the device gave to it
  uint64_t lent;
  int strangers;  // slots whose process has something else of the device than they say
  int flights;    // of slots that nobody owns
};
std::string Text(const Found& found);

class Survivor {
 public:
  Survivor();
  ~Survivor();
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  // It asks for kFirst and so many bytes, at once or one after the other, and frees them
  // afterwards.
  Found Ask(Calls calls, uint64_t bytes) const;

 private:
  pid_t pid_ = 0;
  int order_ = -1;   // to it
  int answer_ = -1;  // of it
};

// What each process of the container begins with: the device's context is current.
void StartCuda();

}  // namespace tessera::limiter
