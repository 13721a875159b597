// SPDX-License-Identifier: Apache-2.0
#include "compat/rocm/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace tessera::config::rocm {
namespace {

constexpr std::string_view kPulse = "pulse";
constexpr std::string_view kNaming = "resource_naming_strategy";
constexpr std::string_view kDriverType = "driver_type";
constexpr int64_t kLongestPulse = 3'600;

constexpr GoFlag kFlags[] = {
    {kPulse, "SECONDS", "The time between health checks. 0: the agent's own, not none."},
    {kNaming, "single|mixed",
     "'single': all are amd.com/gpu. 'mixed': amd.com/PROFILE, such as amd.com/cpx_nps1."},
    {kDriverType, "container", "Passthrough is not served."},
    // The log of the plugin.
    {"logtostderr"},
    {"alsologtostderr"},
    {"stderrthreshold", "LEVEL"},
    {"v", "LEVEL"},
    {"vmodule", "LEVELS"},
    {"log_dir", "DIRECTORY"},
    {"log_backtrace_at", "PLACE"},
    {"log_link", "DIRECTORY"},
    {"logbuflevel", "LEVEL"},
};

void SetPulse(const std::string& value, CommandLine& line) {
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, line.pulse);
  if (read.ec == std::errc() && read.ptr == end && line.pulse >= 0 && line.pulse <= kLongestPulse) {
    return;
  }
  line.pulse = 0;
  line.errors.push_back(BadGoFlag(
      kPulse, fmt::format("takes seconds from 0 to {}, not {}", kLongestPulse, Quoted(value))));
}

// A flag that is not named here has no effect.
void Set(const std::string& name, const std::string& value, CommandLine& line) {
  if (name == kPulse) return SetPulse(value, line);
  if (name == kNaming) {
    line.mixed = value == "mixed";
    if (!line.mixed && value != "single") {
      line.errors.push_back(
          BadGoFlag(kNaming, fmt::format("takes 'single' or 'mixed', not {}", Quoted(value))));
    }
  } else if (name == kDriverType && value != "container") {
    line.errors.push_back(BadGoFlag(
        kDriverType,
        fmt::format("{} is not served: AMD's own plugin hands out GPUs of virtual machines",
                    Quoted(value))));
  }
}

}  // namespace

std::span<const GoFlag> Flags() {
  return kFlags;
}

CommandLine ParseCommandLine(std::span<const std::string> words) {
  GoCommandLine given = ParseGoFlags(kFlags, words);
  CommandLine line{.help = given.help};
  for (const auto& [name, value] : given.values) Set(name, value, line);
  std::ranges::move(given.errors, std::back_inserter(line.errors));
  line.warnings = std::move(given.warnings);
  return line;
}

std::string YamlOf(const CommandLine& line) {
  std::string yaml = "version: tessera/v1\n";
  if (line.pulse > 0) {
    // A device may miss one check.
    const int64_t stale = std::max<int64_t>(60, 2 * line.pulse + 10);
    yaml += fmt::format("health: {{checkInterval: {}s, staleAfter: {}s}}\n", line.pulse, stale);
  }
  return yaml + fmt::format("resources: [{{name: \"{}\", amd: {{}}}}]\n",
                            line.mixed ? "amd.com/{profile}" : "amd.com/gpu");
}

}  // namespace tessera::config::rocm
