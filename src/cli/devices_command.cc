// SPDX-License-Identifier: Apache-2.0
#include "cli/command/fields.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/devices_use.h"
#include "cli/devices_view.h"
#include "cli/vgpu_list.h"

namespace tessera::cli {
namespace {

constexpr Duration kMostMeasured{60'000};

int ShowDevices(const Arguments& arguments) {
  const auto measured = ParseDuration(arguments.Has("for") ? arguments.Get("for") : "0s");
  if (!measured || *measured > kMostMeasured) {
    return PrintMisuse("devices", "--for takes a time of up to 60s, such as 2s, not '" +
                                      arguments.Get("for") + "'");
  }
  auto inventory = AskAgent(arguments, {.path = "/inventory", .query = {}, .body = ""});
  if (!inventory) return PrintFailure(inventory.error());
  // An agent of an earlier version has no such page; then nothing is known of the use.
  const auto page = AskAgent(arguments, {.path = "/grants", .query = {}, .body = ""});
  if (const auto granted = page ? monitor::ReadGranted(*page) : Fail(page.error())) {
    AddUse(*granted, os::Root(), *measured, Sleep, *inventory);
  }
  if (auto printed = PrintDocument(arguments, *inventory)) return *printed;
  auto ledger = AskAgent(arguments, {.path = "/ledger", .query = {}, .body = ""});
  if (!ledger) return PrintFailure(ledger.error());
  const bool wide = arguments.Get("output") == "wide";
  const Detail detail = wide ? Detail::kWide : Detail::kUsual;
  return Print(DevicesText(*inventory, *ledger, detail, OutputView(wide)));
}

// The device's full name from the agent, as the person may have given only an id.
std::string Understood(const json::Value& answer, const Arguments& arguments) {
  std::string device = TextIn(ObjectOf(answer), "device");
  return device.empty() ? arguments.Get("DEVICE") : device;
}

int Cordon(const Arguments& arguments) {
  std::string device = arguments.Get("DEVICE");
  auto done =
      TellAgent(arguments, "/cordon", {{"device", device}, {"reason", arguments.Get("reason")}});
  if (!done) return PrintFailure(done.error());
  return Print(Understood(*done, arguments) +
               " is cordoned: pods that hold it keep it, and no other pod gets it\n");
}

int Uncordon(const Arguments& arguments) {
  auto done = TellAgent(arguments, "/uncordon", {{"device", arguments.Get("DEVICE")}});
  if (!done) return PrintFailure(done.error());
  return Print(Understood(*done, arguments) +
               " is uncordoned: the agent offers it while its checks pass\n");
}

int TellReset(const Arguments& arguments) {
  auto done = TellAgent(arguments, "/was-reset", {{"device", arguments.Get("DEVICE")}});
  if (!done) return PrintFailure(done.error());
  return Print(Understood(*done, arguments) +
               " counts as reset: the agent offers it once its checks have passed\n");
}

Option DeviceOption() {
  return {.name = "DEVICE",
          .help = "its name as 'tessera devices' shows it, or its id if only one resource has it",
          .required = true};
}

}  // namespace

Command DevicesCommand() {
  Command cordon = {.name = "cordon",
                    .summary = "take a device out",
                    .description =
                        "Takes a device out: the agent reports it to kubelet as unhealthy, so no "
                        "further pod gets it. A pod that holds it keeps it. It stays out across "
                        "restarts and reboots, until 'tessera devices uncordon'.",
                    .options = {DeviceOption(),
                                {.name = "--reason",
                                 .value = "TEXT",
                                 .help = "why, in your words; shown with the device",
                                 .required = true},
                                ControlOption()},
                    .examples = {{"tessera devices cordon dummy.com/npu/7 --reason 'fan is loud'",
                                  "Take one device out."}},
                    .run = Cordon};
  Command uncordon = {
      .name = "uncordon",
      .summary = "put a cordoned device back",
      .description =
          "Puts a cordoned device back. The agent offers it again while its health checks pass.",
      .options = {DeviceOption(), ControlOption()},
      .examples = {{"tessera devices uncordon dummy.com/npu/7", "Put it back."}},
      .run = Uncordon};
  Command was_reset = {
      .name = "was-reset",
      .summary = "report that a device was reset",
      .description =
          "Reports a reset that the agent could not see, because it did not run or had released "
          "the driver ('tessera release'). The command itself resets no device. The agent offers "
          "the device again once its checks have passed.",
      .options = {DeviceOption(), ControlOption()},
      .examples = {{"tessera devices was-reset dummy.com/npu/7", "It may come back."}},
      .run = TellReset};
  return {.name = "devices",
          .summary = "show devices, their health and who holds them",
          .description =
              "Shows the resources and devices of this node: their number, their health, whether "
              "kubelet knows them, and which pods hold them. For GPUs, it shows the memory and "
              "compute time in total, granted and free, and each holder's part. Where this command "
              "sees the files of containers' limiting library, it adds the used memory, and with "
              "--for the time. Lines have at most 120 columns, with short UUIDs. '-o wide' shows "
              "everything.",
          .options = {OutputOption({"table", "wide", "json", "yaml"}),
                      {.name = "--for",
                       .value = "TIME",
                       .help = "how long to measure holders' use of a GPU's time; 0s: not at all",
                       .fallback = "0s"},
                      ControlOption()},
          .examples = {{"tessera devices", "See devices, their health and who holds them."},
                       {"tessera devices -o wide", "Add models, times and shares."},
                       {"tessera devices -o json | jq '.devices[] | select(.offered | not)'",
                        "Select the devices that are not offered."}},
          .commands = {cordon, uncordon, was_reset},
          .run = ShowDevices};
}

}  // namespace tessera::cli
