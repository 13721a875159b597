// SPDX-License-Identifier: Apache-2.0
// What the agent saves, as text: two files of JSON lines, each with its version first.
//
// - Facts, valid until they change: the inventory, the cordons, and each source's plan.
// - Verdicts, valid for one boot: a log, in which the last line of a device counts.
//
// agent/state_saver.h reads and writes the files. Pure; any thread.
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

// The version that is written. A higher one is from a newer agent.
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
// kStateNewer or kStateCorrupt if the text cannot be used. An unreadable device is left out; a scan
// will find it.
Result<Facts> ParseFacts(std::string_view text);

// The first line of a log of verdicts.
std::string VerdictsHeader(std::string_view boot_id);
// A line of that log.
std::string VerdictLine(const DeviceKey& key, const Verdict& verdict);
// The verdicts of the log; none if it is from another boot. kStateNewer or kStateCorrupt if its
// first line is unreadable.
// The log ends at the first unreadable line. That line may have said that a device is sick, so only
// verdicts of devices that are out already count; `torn` gets the reason.
Result<Verdicts> ParseVerdicts(std::string_view text, std::string_view boot_id,
                               std::optional<Error>* torn = nullptr);

}  // namespace tessera
