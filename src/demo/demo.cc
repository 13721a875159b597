// SPDX-License-Identifier: Apache-2.0
#include "demo/demo.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "demo/output.h"
#include "demo/player.h"
#include "demo/scenario.h"
#include "demo/show.h"
#include "demo/stage.h"

namespace tessera::demo {
namespace {

constexpr int kGood = 0;
constexpr int kBad = 1;
constexpr int kUsage = 2;
constexpr int kSignalled = 128;
constexpr size_t kLogLines = 20;

void Complain(const std::string& text) {
  fmt::print(stderr, "tessera demo: {}\n", text);
}

// Neither a scenario that ships nor a file that can be read.
void ComplainOfName(const std::string& name, const config::Problem& problem) {
  const std::vector<std::string> names = ScenarioNames();
  const std::optional<std::string> meant = Closest(name, names);
  Complain(fmt::format("{}: {}, and no scenario of that name ships{}", name, problem.message,
                       meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
  fmt::print(stderr, "those that ship are {}\n", Join(names, ", "));
}

// One that ships, else a file.
config::Document Find(const std::string& name) {
  for (const BuiltinScenario& scenario : BuiltinScenarios()) {
    if (name.empty() || name == scenario.name) {
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

// What is left when the stage is gone.
struct Ending {
  std::string directory;
  std::string log;  // the last lines of the agents'
};

// Everything but the output: builds the stage, plays, clears up. An error means that it could not
// begin.
Result<Ending> PlayOn(const Scenario& scenario, const DemoOptions& options, bool live, Show& show,
                      const Interruption& interruption) {
  Stage::Options stage_options{.kubelet = {}, .program = os::OwnPath(), .keep = options.keep};
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
  const ReadScenario read = ParseScenario(Find(options.scenario));
  if (!read.problems.empty()) {
    if (read.problems.front().reason == Reason::kConfigUnreadable) {
      ComplainOfName(options.scenario, read.problems.front());
    } else {
      fmt::print(stderr, "{}", config::Text(read.problems));
    }
    return kUsage;
  }
  log::Configure(log::Level::kOff, log::Format::kText);

  Interruption interruption;
  std::unique_ptr<Output> output = MakeOutput(options);
  const bool live = output->live();
  Show show(std::move(output), FirstPicture(read.scenario, options), interruption);
  const Steady began = SystemClock().Now();
  const Result<Ending> played = PlayOn(read.scenario, options, live, show, interruption);
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
