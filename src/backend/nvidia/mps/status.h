// SPDX-License-Identifier: Apache-2.0
// The status of a resource's MPS daemon. `tessera mps` writes it to a file in the daemon's
// directory; the agent reads it. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "health/health.h"

namespace tessera::nvidia {

inline constexpr char kMpsStatusFile[] = "status.json";  // in MpsDirectory

enum class MpsState : uint8_t {
  kDown,    // it does not run: not yet, or it has ended
  kReady,   // it answers
  kSilent,  // it runs and does not answer, but does not count as hung yet
};
std::string_view MpsStateName(MpsState state);  // "down", "ready", "silent"

struct MpsStatus {
  MpsState state = MpsState::kDown;
  std::string detail = {};  // why it is not ready
  int pid = 0;              // the daemon's; 0: none
  std::string boot = {};    // the kernel's boot id; the times below belong to that boot
  Steady answered{};        // the last answer
  Steady next{};            // the latest time of the next status
  int threads = 0;          // percent of a GPU that a client may use
  std::map<std::string, int> served = {};           // by GPU, the MiB that a client may take
  std::map<std::string, std::string> refused = {};  // by device, why MPS does not share it
  bool operator==(const MpsStatus&) const = default;
};

std::string MpsStatusText(const MpsStatus& status);
// kStateCorrupt: the text was not written by MpsStatusText.
Result<MpsStatus> ParseMpsStatus(std::string_view text);

// Why a client cannot use this device now; null: it can. `status`: as just read; kNotFound: there
// is no such file.
std::optional<Evidence> MpsTrouble(const Result<MpsStatus>& status, std::string_view boot,
                                   Steady now, const std::string& device);

}  // namespace tessera::nvidia
