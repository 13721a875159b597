// SPDX-License-Identifier: Apache-2.0
// Events of AMD GPUs, from /dev/kfd: resets, faults of programs, throttling. An open stream keeps
// the driver from being unloaded. Source: uapi/linux/kfd_ioctl.h of Linux.
//
// A process that opens /dev/kfd is known to the driver until it ends, and so long no GPU can be
// divided anew. So a child process opens it, and lends the streams.
//
// Owned by the backend. One thread: the loop's. Streams are opened on a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::amd {

// Faults of programs (1) are not asked for: their lines have the program's name as it is, and a
// name with a new line would tell of a reset.
enum class SmiEvent : uint8_t { kThrottled = 2, kBeforeReset = 3, kAfterReset = 4 };

// The event of a line, "3 1f2"; nothing, if it is another one or none.
std::optional<SmiEvent> ParseSmiEvent(std::string_view line);

// For each GPU a stream of lines; readable by poll, and does not block. Waits for the driver, for
// seconds at most.
std::vector<Result<os::Fd>> OpenSmiEvents(const os::Root& root,
                                          const std::vector<uint64_t>& gpu_ids);

class SmiEvents {
 public:
  static constexpr Duration kShortestPause{10'000};
  static constexpr Duration kLongestPause{600'000};
  // A stream, or an error, for each. On a worker; it may outlive this object.
  using Streams = std::vector<Result<os::Fd>>;
  using Open = std::function<Streams(const std::vector<uint64_t>& gpu_ids)>;
  using Heard = std::function<void(const std::string& address, SmiEvent event)>;
  // `clock` and `loop` outlive it.
  SmiEvents(os::Loop& loop, Open open, Heard heard, const Clock& clock);

  // Follows these GPUs from now on, by address, each with its numbers in the kernel's list.
  void Follow(const std::map<std::string, std::vector<uint64_t>>& gpus);
  // Opens the streams that are missing, and again those that failed, after a pause that grows. To
  // be called often; waits for nothing.
  void OpenMissing();
  // Ends all streams; nothing is heard afterwards. Then any thread may destroy it.
  void Stop();
  // Whether a worker is about to open streams.
  bool is_opening() const { return opening_; }
  // Why a GPU is not followed; nothing: it is, or its stream is about to be opened.
  const std::map<std::string, Error>& troubles() const { return troubles_; }

 private:
  struct Stream {
    os::Fd fd;
    std::string rest{};  // a line that has not ended
    os::Loop::Handle watch{};
  };
  void Opened(const std::vector<uint64_t>& gpu_ids, const std::shared_ptr<Streams>& streams);
  void Read(uint64_t gpu_id, const std::string& address);

  os::Loop& loop_;
  const Open open_;
  const Heard heard_;
  const Clock& clock_;
  std::map<uint64_t, std::string> wanted_;  // addresses
  std::map<uint64_t, Stream> streams_;
  std::map<std::string, Error> troubles_;
  bool opening_ = false;
  std::set<uint64_t> failed_;  // by the last attempt
  Duration pause_ = kShortestPause;
  Steady retry_at_{};
  os::Workers workers_{1};
  std::optional<os::Mailbox<SmiEvents>> mailbox_{std::in_place, loop_, *this};
};

}  // namespace tessera::amd
