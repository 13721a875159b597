// SPDX-License-Identifier: Apache-2.0
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/explain_view.h"
#include "cli/pod_view.h"

namespace tessera::cli {
namespace {

int ExplainName(const Arguments& arguments) {
  http::Request request{.path = "/explain", .query = {}, .body = ""};
  const std::string name = arguments.Get("NAME");
  const bool pod = IsPodName(name);
  if (!name.empty()) request.query[pod ? "pod" : "device"] = name;
  auto answer = AskAgent(arguments, request);
  if (!answer) return PrintFailure(answer.error());
  if (auto printed = PrintDocument(arguments, *answer)) return *printed;
  return Print(pod ? PodText(*answer, OutputView()) : ExplainText(*answer, OutputView()));
}

}  // namespace

Command ExplainCommand() {
  return {
      .name = "explain",
      .summary = "show why a device is offered or not, and why a pod waits",
      .description =
          "Shows for every candidate whether it is offered to kubelet and why, and its ids and "
          "NUMA nodes. It also shows what its container gets: variables, mounts, device nodes, "
          "annotations, CDI names.\n\nFor a pod of this node, it shows who placed it, and what "
          "each of its containers asks for, holds and was granted. For a refused container, it "
          "shows the reason, the count and the next step. The agent remembers the last 256 "
          "refusals until it ends.",
      .options = {{.name = "NAME",
                   .help = "a device by its name in 'tessera devices', or a pod as NAMESPACE/POD"},
                  OutputOption({"table", "json", "yaml"}),
                  ControlOption()},
      .examples = {{"tessera explain", "Explain every candidate of this node."},
                   {"tessera explain dummy.com/npu/7", "Why does no pod get this device?"},
                   {"tessera explain default/train-0", "Why does this pod not start?"}},
      .run = ExplainName};
}

}  // namespace tessera::cli
