// SPDX-License-Identifier: Apache-2.0
// What `tessera mps` says of a resource's MPS daemon, in a file beside it, and what the agent makes
// of that. Pure; plain data; any thread.
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
  kDown,    // it does not run: not yet, or not any more
  kReady,   // it answers
  kSilent,  // it runs and does not answer: not so often yet that it counts as hung
};
std::string_view MpsStateName(MpsState state);  // "down", "ready", "silent"

struct MpsStatus {
  MpsState state = MpsState::kDown;
  std::string detail = {};  // why it is not ready
  int pid = 0;              // of the daemon; 0: there is none
  std::string boot = {};    // the kernel's boot id, which the times that follow are of
  Steady answered{};        // when it last did
  Steady next{};            // when there is another word at the latest
  int threads = 0;          // percent of a GPU's that a client may keep busy
  std::map<std::string, int> served = {};           // by GPU the MiB of it that a client may take
  std::map<std::string, std::string> refused = {};  // by device why MPS does not share it
  bool operator==(const MpsStatus&) const = default;
};

std::string MpsStatusText(const MpsStatus& status);
// kStateCorrupt for what was not written by the above.
Result<MpsStatus> ParseMpsStatus(std::string_view text);

// Why this device is of no use to a client now; nothing when it is. `status` as it was read just
// now; kNotFound: there is no such file.
std::optional<Evidence> MpsTrouble(const Result<MpsStatus>& status, std::string_view boot,
                                   Steady now, const std::string& device);

}  // namespace tessera::nvidia
