// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <thread>

#include "base/text.h"
#include "cli/command/fields.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"

namespace tessera::cli {
namespace {

// A wait for events ends within five seconds, other calls sooner, unless they hang.
constexpr Duration kReleaseLimit{10'000};
constexpr Duration kBetweenLooks{100};

// Libraries still open at the limit are closed later, without the command.
Result<json::Value> AwaitClosed(const Arguments& arguments, json::Value page) {
  const Steady limit = SystemClock().Now() + kReleaseLimit;
  while (!ListIn(ObjectOf(page), "heldBy").empty() && SystemClock().Now() < limit) {
    std::this_thread::sleep_for(kBetweenLooks);
    page = TRY(AskAgent(arguments, {.path = "/release", .query = {}, .body = ""}));
  }
  return page;
}

int EndRelease(const Arguments& arguments) {
  const auto done = TellAgent(arguments, "/release", {{"end", true}});
  if (!done) return PrintFailure(done.error());
  return Print("the release has ended: the agent offers devices once their checks have passed\n");
}

int Release(const Arguments& arguments) {
  if (arguments.Has("end")) return EndRelease(arguments);
  auto begun = TellAgent(arguments, "/release", {{"for", arguments.Get("for")}});
  if (!begun) return PrintFailure(begun.error());
  const auto page = AwaitClosed(arguments, *std::move(begun));
  if (!page) return PrintFailure(page.error());
  const json::Object& answer = ObjectOf(*page);
  const std::vector<std::string> held = ListIn(answer, "heldBy");
  if (!held.empty()) {
    return PrintFailure(
        {Reason::kTimedOut,
         fmt::format(
             "released until {}, but the library is still open: {}; it closes when that ends",
             TextIn(answer, "until"), Join(held, "; "))});
  }
  return Print(fmt::format(
      "released until {}: {}\nthe library is closed; 'tessera release --end' opens it again\n",
      TextIn(answer, "until"), Join(ListIn(answer, "resources"), ", ")));
}

}  // namespace

Command ReleaseCommand() {
  return {.name = "release",
          .summary = "close the driver's library for a while",
          .description =
              "Makes the agent close the vendor's library, so that a GPU can be reset or the "
              "driver replaced. The library stays closed until the time is over or --end is given. "
              "Until then, all its devices are unhealthy: no pod gets one, and a pod that holds "
              "one keeps it. Afterwards the agent discovers all devices again. The command returns "
              "when the library is closed, and fails if a call that hangs keeps it open.",
          .options = {{.name = "--for",
                       .value = "TIME",
                       .help = "for how long, at most 1h; a second call starts the time again",
                       .fallback = "10m"},
                      {.name = "--end", .help = "end the release now"},
                      ControlOption()},
          .examples = {{"tessera release --for 10m", "Then reset a GPU, or replace the driver."},
                       {"tessera release --end", "End the release."}},
          .run = Release};
}

}  // namespace tessera::cli
