// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/explain_view.h"
#include "cli/output.h"

namespace tessera::cli {
namespace {

int ExplainDevice(const Arguments& arguments) {
  http::Request request{.path = "/explain", .query = {}, .body = ""};
  if (arguments.Has("DEVICE")) request.query["device"] = arguments.Get("DEVICE");
  auto answer = AskAgent(arguments, request);
  if (!answer) return PrintFailure(answer.error());
  if (auto printed = PrintDocument(arguments, *answer)) return *printed;
  return Print(ExplainText(*answer, OutputView()));
}

}  // namespace

Command ExplainCommand() {
  return {.name = "explain",
          .summary = "why a device is offered or not, and what a container gets with it",
          .description =
              "Says for every candidate whether it is offered to kubelet, as what and "
              "why, under which ids, near which NUMA nodes, and what a container that "
              "gets it finds: variables, mounts, device nodes, annotations, CDI names.",
          .options = {{.name = "DEVICE", .help = "one device, as 'tessera devices' names it"},
                      OutputOption({"table", "json", "yaml"}),
                      ControlOption()},
          .examples = {{"tessera explain", "Explain every candidate of this node."},
                       {"tessera explain dummy.com/npu/7", "Why does nobody get this one?"}},
          .run = ExplainDevice};
}

}  // namespace tessera::cli
