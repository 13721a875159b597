// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/config_command.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "cli/command/help.h"
#include "cli/command/output.h"
#include "os/process.h"
#include "scheduler/cli/main.h"
#include "scheduler/settings/device_config.h"
#include "scheduler/settings/print.h"

namespace tessera::cli {
namespace {

// Prints notes and problems. False if the settings cannot be used.
bool Tell(const scheduler::Loaded& loaded, FILE* err) {
  for (const std::string& note : loaded.notes) fmt::print(err, "{}\n", note);
  for (const config::Problem& warning : loaded.warnings) {
    fmt::print(err, "warning: {}\n", warning.Text());
  }
  fmt::print(err, "{}", config::Text(loaded.errors));
  return loaded.ok();
}

Command PrintCommand();

int PrintSettings(const Arguments& arguments) {
  scheduler::CommandLine line = scheduler::ParseFlags(arguments.words());
  if (line.help) return Print(HelpText(PrintCommand(), "tessera-scheduler config print"));
  return SettingsPrint(scheduler::Load(scheduler::SourcesOf(std::move(line), os::Variable)), stdout,
                       stderr);
}

Command PrintCommand() {
  return {.name = "print",
          .summary = "print the settings in force, and where each comes from",
          .description =
              "Prints the settings that a scheduler would use with the same flags and variables. "
              "Each value has its origin: a file and line, a variable, a flag, or the default. The "
              "output is a valid file for --config.",
          .options = SettingsOptions(),
          .examples = {{"tessera-scheduler config print --device-config-file device-config.yaml",
                        "See what HAMi's file sets."}},
          .reads_words = true,
          .run = PrintSettings};
}

}  // namespace

int SettingsPrint(const scheduler::Loaded& loaded, FILE* out, FILE* err) {
  if (!Tell(loaded, err)) return kFailed;
  fmt::print(out, "{}", scheduler::PrintYaml(loaded));
  return kOk;
}

int SettingsCheck(const std::string& file, FILE* out, FILE* err) {
  config::Document document = config::Document::Read(file);
  scheduler::Sources sources;
  const bool is_hamis = scheduler::IsDeviceConfig(document);
  (is_hamis ? sources.hami : sources.own) = std::move(document);
  if (is_hamis) fmt::print(out, "{}: read as HAMi's device-config.yaml\n", file);
  const scheduler::Loaded loaded = scheduler::Load(std::move(sources));
  if (!Tell(loaded, err)) {
    fmt::print(err, "{}: {}\n", file, Count(loaded.errors.size(), "error"));
    return kFailed;
  }
  fmt::print(out, "{}: good\n", file);
  return kOk;
}

Command SchedulerConfigCommand() {
  Command check = {.name = "check",
                   .summary = "check a settings file",
                   .description =
                       "Reads a file of the scheduler or HAMi's device-config.yaml and prints "
                       "every error with line, column and the nearest valid key. It exits with 1 "
                       "if there is an error. Warnings alone are no error.",
                   .options = {{.name = "FILE", .help = "the file", .required = true}},
                   .examples = {{"tessera-scheduler config check ./scheduler.yaml",
                                 "Check it before a rollout."}},
                   .run = [](const Arguments& arguments) {
                     return SettingsCheck(arguments.Get("FILE"), stdout, stderr);
                   }};
  return {.name = "config",
          .summary = "print and check the settings",
          .description =
              "Prints and checks the settings. docs/reference/scheduler-settings.md describes "
              "every key.",
          .commands = {PrintCommand(), std::move(check)}};
}

}  // namespace tessera::cli
