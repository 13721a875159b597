// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/demo.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "os/files.h"
#include "sim/demo/hardware.h"
#include "sim/demo/output.h"
#include "sim/demo/player.h"
#include "sim/demo/scenario.h"
#include "sim/demo/show.h"
#include "sim/demo/stage.h"

namespace tessera::demo {
namespace {

constexpr int kGood = 0;
constexpr int kBad = 1;
constexpr int kUsage = 2;
constexpr int kSignalled = 128;
constexpr size_t kLogLines = 20;

void Complain(const std::string& text) {
  fmt::print(stderr, "tessera-sim demo: {}\n", text);
}

// The name is neither a built-in scenario nor a readable file.
void ComplainOfName(const std::string& name, const config::Problem& problem) {
  const std::vector<std::string> names = ScenarioNames();
  const std::optional<std::string> meant = Closest(name, names);
  Complain(fmt::format("{}: {}, and no scenario of that name ships{}", name, problem.message,
                       meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
  fmt::print(stderr, "those that ship are {}\n", Join(names, ", "));
}

std::string AgentBeside(const std::string& program) {
  return program.substr(0, program.rfind('/')) + "/tessera";
}

// The default scenario.
std::string FittingScenario(const Hardware* hardware) {
  if (hardware == nullptr) return "default";
  const std::set<std::string>& kinds = hardware->kinds();
  if (kinds.contains("ascend")) return "ascend";
  if (kinds.contains("rdma")) return "gpus-and-nics";
  if (kinds.contains("amd")) return hardware->has_parts() ? "amd-partitions" : "amd";
  if (hardware->is_wsl()) return "nvidia-wsl";
  return hardware->has_parts() ? "nvidia-mig" : "nvidia";
}

// A built-in scenario, else a file.
config::Document Find(const std::string& name) {
  for (const BuiltinScenario& scenario : BuiltinScenarios()) {
    if (name == scenario.name) {
      return config::Document::Parse(fmt::format("{}.yaml", scenario.name),
                                     std::string(scenario.text));
    }
  }
  return config::Document::Read(name);
}

Picture FirstPicture(const Scenario& scenario, const DemoOptions& options) {
  Picture picture;
  picture.title = scenario.title;
  picture.kubelet_version = scenario.rules == kubelet::ConnectionRules::kFrom137 ? "1.37" : "1.36";
  const double length = static_cast<double>(scenario.length().count()) / options.speed;
  picture.length = Duration(static_cast<int64_t>(length));
  return picture;
}

// A kind of hardware, which a scenario needs if it has a resource of it.
struct Simulated {
  std::string_view kind;
  std::string_view name;
  std::string_view scenario;
  std::string_view description;
};
// Cards come first: their scenario has GPUs as well, and names a description of both.
constexpr Simulated kSimulated[] = {
    {"rdma", "RDMA network cards", "gpus-and-nics", "demo/hardware/8gpus8nics.yaml"},
    {"nvidia", "NVIDIA GPUs", "nvidia", "demo/hardware/8xa100.yaml"},
    {"amd", "AMD GPUs", "amd", "demo/hardware/8xmi300x.yaml"},
    {"ascend", "Ascend NPUs", "ascend", "demo/hardware/8xascend910b.yaml"},
};

// The kinds of resources of all configurations.
std::set<std::string> KindsOf(const Scenario& scenario) {
  std::set<std::string> kinds = scenario.config.kinds;
  for (const Step& step : scenario.steps) {
    if (const auto* reconfigure = std::get_if<Reconfigure>(&step.action)) {
      kinds.insert(reconfigure->config.kinds.begin(), reconfigure->config.kinds.end());
    }
  }
  return kinds;
}

// Why the scenario cannot be played on the hardware; empty: it can.
std::string WhyUnfit(const std::string& name, const Scenario& scenario, const Hardware* hardware) {
  const std::set<std::string> played = KindsOf(scenario);
  const std::set<std::string> there =
      hardware == nullptr ? std::set<std::string>() : hardware->kinds();
  for (const Simulated& one : kSimulated) {
    const std::string kind(one.kind);
    if (!played.contains(kind) || there.contains(kind)) continue;
    return fmt::format("{} plays {}: say which with --hardware, such as --hardware {}", name,
                       one.name, one.description);
  }
  for (const Simulated& one : kSimulated) {
    const std::string kind(one.kind);
    if (played.contains(kind) || !there.contains(kind)) continue;
    return fmt::format(
        "{} has no resource of {} for the hardware: leave --hardware out, or take --scenario {}",
        name, one.name, one.scenario);
  }
  return "";
}

// Reads the scenario; null: a problem was printed.
std::optional<Scenario> ReadFor(const std::string& name, const Hardware* hardware) {
  const ReadScenario read = ParseScenario(Find(name));
  if (!read.problems.empty()) {
    if (read.problems.front().reason == Reason::kConfigUnreadable) {
      ComplainOfName(name, read.problems.front());
    } else {
      fmt::print(stderr, "{}", config::Text(read.problems));
    }
    return std::nullopt;
  }
  // The machine's own GPUs are never used.
  if (const std::string why = WhyUnfit(name, read.scenario, hardware); !why.empty()) {
    Complain(why);
    return std::nullopt;
  }
  return read.scenario;
}

// The results after the stage's end.
struct Ending {
  std::string directory;
  std::string log;  // the last lines of the log
};

// Builds the stage, plays, and cleans up; all but the output. An error: the play could not start.
Result<Ending> PlayOn(const Scenario& scenario, const DemoOptions& options, Hardware* hardware,
                      bool live, Show& show, const Interruption& interruption) {
  Stage::Options stage_options{.kubelet = {},
                               .program = AgentBeside(os::OwnPath()),
                               .keep = options.keep,
                               .hardware = hardware};
  stage_options.kubelet.rules = scenario.rules;
  stage_options.kubelet.seed = scenario.seed;
  const std::unique_ptr<Stage> stage = TRY(Stage::Build(
      std::move(stage_options), [&](Observation seen) { show.Observe(std::move(seen)); },
      interruption));
  Player player(scenario, *stage, interruption, {.speed = options.speed, .watch_devices = live});
  player.Play();
  return Ending{stage->directory(), stage->LogTail(kLogLines)};
}

}  // namespace

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const BuiltinScenario& scenario : BuiltinScenarios()) names.emplace_back(scenario.name);
  return names;
}

int RunDemo(const DemoOptions& options) {
  if (!(options.speed > 0)) {
    Complain("--speed takes a number above 0");
    return kUsage;
  }
  std::unique_ptr<Hardware> hardware;
  if (!options.hardware.empty()) {
    HardwareLibraries libraries = Hardware::LibrariesBeside(os::OwnPath());
    if (!options.nvml.empty()) libraries.nvml = options.nvml;
    Result<std::unique_ptr<Hardware>> opened = Hardware::Open(libraries, options.hardware);
    if (!opened) {
      Complain(opened.error().message);
      return kUsage;
    }
    hardware = *std::move(opened);
  }
  if (const std::string agent = AgentBeside(os::OwnPath()); !os::Exists(agent)) {
    Complain(fmt::format("there is no {}, the agent's program: build it with tools/build", agent));
    return kUsage;
  }
  const std::optional<Scenario> scenario =
      ReadFor(options.scenario.empty() ? FittingScenario(hardware.get()) : options.scenario,
              hardware.get());
  if (!scenario) return kUsage;
  log::Configure(log::Level::kOff, log::Format::kText);

  Interruption interruption;
  std::unique_ptr<Output> output = MakeOutput(options);
  const bool live = output->live();
  Show show(std::move(output), FirstPicture(*scenario, options), interruption);
  const Steady began = SystemClock().Now();
  const Result<Ending> played =
      PlayOn(*scenario, options, hardware.get(), live, show, interruption);
  if (interruption.signal() != 0) return kSignalled + interruption.signal();
  const Summary summary = show.Finish(SystemClock().Now() - began);
  if (!played) {
    Complain(played.error().Text());
    return kBad;
  }
  if (options.keep) Complain("everything is kept in " + played->directory);
  if (summary.good()) return kGood;
  fmt::print(stderr, "the agent's log ended with:\n{}", played->log);
  return kBad;
}

}  // namespace tessera::demo
