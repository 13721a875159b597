// SPDX-License-Identifier: Apache-2.0
// Single values as NVIDIA's device plugin reads them: the rules of YAML 1.1, of Go's JSON, and of
// its own for names and devices. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "config/schema/scalar.h"
#include "config/schema/yaml.h"

namespace tessera::config::nvidia {

// What a scalar of a file is in YAML 1.1, where quotes make everything text.
enum class ScalarType : uint8_t { kText, kBool, kNumber };
ScalarType TypeOf(const Node& scalar);

// Of a plain scalar: y, yes, on, true, n, no, off, false, each in three spellings.
std::optional<bool> Truth(std::string_view text);
// As Go reads a switch's value: 1, t, T, TRUE, true, True, and the same of no.
std::optional<bool> SwitchValue(std::string_view text);
// "12", "0x1F", "0b11", "017", "0o17", "1_000", with a sign; nothing when it is none or too large.
std::optional<int64_t> WholeNumber(std::string_view text);
// The same, and "4.0" or "4e0": a fraction of nothing is none to Go either.
std::optional<int64_t> WholeNumberOrFloat(std::string_view text);

// The name of a resource with its prefix: "gpu" and "nvidia.com/gpu" are both "nvidia.com/gpu".
Parsed<std::string> ReadResourceName(std::string_view text);
// One device of a list: "0", "0:1", "GPU-<uuid>", "MIG-<uuid>", "MIG-GPU-<uuid>/<gi>/<ci>".
bool IsDeviceReference(std::string_view text);
// A time as Go writes it, such as "1h30m" or "5s"; "infinite" is the longest there is. Nothing when
// it is none.
std::optional<Duration> SleepInterval(std::string_view text);
inline constexpr char kInterval[] = "a time such as 60s or 1h30m, or 'infinite'";  // for messages

// For messages: "a list", "the text 'yes'", "'8'".
std::string Described(const Node& node);

}  // namespace tessera::config::nvidia
