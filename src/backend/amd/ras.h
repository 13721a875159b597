// SPDX-License-Identifier: Apache-2.0
// The errors of a GPU's memory and blocks, by sysfs: ras/BLOCK_err_count, counted since the driver
// was loaded. Those of "umc" outlast the driver. Pages of memory that are bad are in
// ras/gpu_vram_bad_pages. Any thread; reads sysfs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "os/files.h"

namespace tessera::amd {

// Uncorrected errors by block: {"umc", 1}. Empty: the GPU counts none.
using RasErrors = std::map<std::string, uint64_t>;
RasErrors ReadRas(const os::Root& root, const std::string& address);
// Bad pages that the driver could not set aside; nothing: unknown.
std::optional<uint64_t> ReadFailedPages(const os::Root& root, const std::string& address);
// The number in "ue: 3\nce: 0\n"; nothing, if the text is another one.
std::optional<uint64_t> ParseUncorrected(std::string_view text);
// How many lines are such as "0x00012345 : 0x00001000 : F".
uint64_t CountFailedPages(std::string_view text);

// Tells errors until the GPU is reset. Those from before the first reading are old: the verdict of
// a former agent knows them. Any thread; a GPU that hangs delays only its own reader.
class RasWatch {
 public:
  explicit RasWatch(os::Root root, const Clock& clock) : root_(std::move(root)), clock_(clock) {}

  struct Answer {
    RasErrors fresh{};          // uncorrected errors since the last reading
    RasErrors standing{};       // those and all others since the first reading or the last reset
    bool reset = false;         // the GPU was reset, or its counts began anew as after a new driver
    uint64_t failed_pages = 0;  // it has now, as last read
  };
  // Reads at most once a second, as each read asks the GPU.
  Answer Look(const std::string& address);
  // The GPU was reset: its errors until the next reading are old. Waits for nothing.
  void WasReset(const std::string& address);

 private:
  struct Watched {
    bool is_known = false;
    bool was_reset = false;
    RasErrors last{};
    RasErrors standing{};
    uint64_t failed_pages = 0;
    Steady read_at{};
  };

  const os::Root root_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Watched> gpus_ TESSERA_GUARDED_BY(mutex_);  // by address
};

}  // namespace tessera::amd
