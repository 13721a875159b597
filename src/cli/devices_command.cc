// SPDX-License-Identifier: Apache-2.0
#include "cli/command/fields.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/devices_view.h"

namespace tessera::cli {
namespace {

int ShowDevices(const Arguments& arguments) {
  auto inventory = AskAgent(arguments, {.path = "/inventory", .query = {}, .body = ""});
  if (!inventory) return PrintFailure(inventory.error());
  if (auto printed = PrintDocument(arguments, *inventory)) return *printed;
  auto ledger = AskAgent(arguments, {.path = "/ledger", .query = {}, .body = ""});
  if (!ledger) return PrintFailure(ledger.error());
  const bool wide = arguments.Get("output") == "wide";
  const Detail detail = wide ? Detail::kWide : Detail::kUsual;
  return Print(DevicesText(*inventory, *ledger, detail, OutputView(wide)));
}

// The device as the agent understood it: its full name, where only an id was given.
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
               " is cordoned; who holds it keeps it, nobody else gets it\n");
}

int Uncordon(const Arguments& arguments) {
  auto done = TellAgent(arguments, "/uncordon", {{"device", arguments.Get("DEVICE")}});
  if (!done) return PrintFailure(done.error());
  return Print(Understood(*done, arguments) + " is back; it is offered while its checks pass\n");
}

int TellReset(const Arguments& arguments) {
  auto done = TellAgent(arguments, "/was-reset", {{"device", arguments.Get("DEVICE")}});
  if (!done) return PrintFailure(done.error());
  return Print(Understood(*done, arguments) +
               " counts as reset; it is offered once its checks have passed\n");
}

Option DeviceOption() {
  return {
      .name = "DEVICE",
      .help = "its name as 'tessera devices' shows it, or its id where only one resource has it",
      .required = true};
}

}  // namespace

Command DevicesCommand() {
  Command cordon = {
      .name = "cordon",
      .summary = "take a device out by hand",
      .description =
          "Takes a device out by hand: kubelet is told that it is unhealthy, so that no "
          "pod gets it any more. Who holds it keeps it. It stays out across restarts "
          "and reboots, until 'tessera devices uncordon'.",
      .options = {DeviceOption(),
                  {.name = "--reason",
                   .value = "TEXT",
                   .help = "why, in your words; shown wherever the device is",
                   .required = true},
                  ControlOption()},
      .examples = {{"tessera devices cordon dummy.com/npu/7 --reason 'fan is loud'",
                    "Take one device out."}},
      .run = Cordon};
  Command uncordon = {.name = "uncordon",
                      .summary = "put a device back",
                      .description =
                          "Puts a device back that was cordoned. It is offered again while its own "
                          "health checks pass.",
                      .options = {DeviceOption(), ControlOption()},
                      .examples = {{"tessera devices uncordon dummy.com/npu/7", "Put it back."}},
                      .run = Uncordon};
  Command was_reset = {
      .name = "was-reset",
      .summary = "say that a device was reset",
      .description =
          "Tells the agent that a device which waits for a reset has had one that the agent could "
          "not see: while it did not run, or had let go of the driver ('tessera release'). It "
          "resets nothing. The device is offered again once its checks have passed.",
      .options = {DeviceOption(), ControlOption()},
      .examples = {{"tessera devices was-reset dummy.com/npu/7", "It may come back."}},
      .run = TellReset};
  return {
      .name = "devices",
      .summary = "what is here, how it is, and who holds it",
      .description =
          "Shows the resources and devices of this node: how many there are, how they are, whether "
          "kubelet knows them, which pods hold them; of GPUs how much memory and compute time "
          "there is, was granted and is free, and each holder's part. Lines are 120 columns "
          "long at most, with UUIDs shortened; '-o wide' has all of it.",
      .options = {OutputOption({"table", "wide", "json", "yaml"}), ControlOption()},
      .examples = {{"tessera devices", "See what is here and who holds it."},
                   {"tessera devices -o wide", "The same with models, times and shares."},
                   {"tessera devices -o json | jq '.devices[] | select(.offered | not)'",
                    "Pick out what is not offered."}},
      .commands = {cordon, uncordon, was_reset},
      .run = ShowDevices};
}

}  // namespace tessera::cli
