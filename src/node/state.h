// SPDX-License-Identifier: Apache-2.0
// What the agent remembers, as text: two files of JSON lines, each beginning with its version.
//
// - Facts, good until they change: the inventory, the cordons, and how each resource was divided
//   and which shares were kept for their holders.
// - Verdicts, good for one boot of the kernel: a log, in which the last line about a device counts.
//
// Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "device/device_list.h"
#include "health/health.h"
#include "share/share.h"

namespace tessera {

// The version written; a file of a higher one comes from a newer agent.
inline constexpr int kStateVersion = 1;

using Cordons = std::map<DeviceKey, Cordon, DeviceKeyLess>;
using Plans = std::map<std::string, Plan>;  // by source: how its devices were divided last
using Verdicts = std::map<DeviceKey, Verdict, DeviceKeyLess>;

struct Facts {
  DeviceList devices;
  Cordons cordons;
  Plans plans;
  bool operator==(const Facts&) const = default;
};

std::string WriteFacts(const DeviceList& devices, const Cordons& cordons, const Plans& plans);
// kStateNewer or kStateCorrupt when it cannot be used. A device that cannot be read is left out: it
// will be found anew.
Result<Facts> ParseFacts(std::string_view text);

// The first line of a log of verdicts.
std::string VerdictsHeader(std::string_view boot_id);
// One more line of it.
std::string VerdictLine(const DeviceKey& key, const Verdict& verdict);
// Nothing when the log is of another boot; kStateNewer or kStateCorrupt when that cannot be told.
// At a line that cannot be read it ends; as that line may have said that a device is sick, only
// those that were sick already are believed, and `torn` says why it ended.
Result<Verdicts> ParseVerdicts(std::string_view text, std::string_view boot_id,
                               std::optional<Error>* torn = nullptr);

}  // namespace tessera
