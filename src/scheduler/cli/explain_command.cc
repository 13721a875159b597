// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cli/explain_command.h"

#include <string>

#include "cli/command/output.h"
#include "http/blocking.h"
#include "json/json.h"
#include "scheduler/explanation.h"

namespace tessera::cli {
namespace {

constexpr Duration kPatience{10'000};

int ExplainPod(const Arguments& arguments) {
  const http::Request request{
      .path = "/explain", .query = {{"pod", arguments.Get("POD")}}, .body = ""};
  const auto answer = http::CallTcp(arguments.Get("status"), request, kPatience);
  if (!answer) return PrintFailure(answer.error());
  const auto page = json::Parse(answer->body);
  if (!page) return PrintFailure(page.error());
  if (auto printed = PrintDocument(arguments, *page)) return *printed;
  const auto text = scheduler::ExplanationText(*page);
  return text ? Print(*text) : PrintFailure(text.error());
}

}  // namespace

Command SchedulerExplainCommand() {
  return {.name = "explain",
          .summary = "show why a pod waits",
          .description =
              "Shows, for groups of nodes, why the pod does not fit, which pods would have to end, "
              "and when kube-scheduler last tried it. A replica that does not lead shows its own "
              "view, and the leader.",
          .options = {{.name = "POD", .help = "the pod, as NAMESPACE/NAME"},
                      OutputOption({"table", "json", "yaml"}),
                      {.name = "--status",
                       .value = "ADDRESS",
                       .help = "the address of the scheduler's status page",
                       .fallback = "127.0.0.1:9395"}},
          .examples = {{"tessera-scheduler explain team/train-0", "Why does this pod not start?"}},
          .run = ExplainPod};
}

}  // namespace tessera::cli
