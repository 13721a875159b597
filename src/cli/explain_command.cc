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
      .summary = "why a device is offered or not, and what became of a pod",
      .description =
          "Says for every candidate whether it is offered to kubelet, as what and "
          "why, under which ids, near which NUMA nodes, and what a container that "
          "gets it finds: variables, mounts, device nodes, annotations, CDI names.\n\n"
          "Of a pod of this node it says who placed it, and of each of its containers what it "
          "asks for, holds and was granted, or why it was refused, how often, and what to do. "
          "That is what the agent remembers: of refusals the last 256, until it ends.",
      .options = {{.name = "NAME",
                   .help = "a device, as 'tessera devices' names it, or a pod, as NAMESPACE/POD"},
                  OutputOption({"table", "json", "yaml"}),
                  ControlOption()},
      .examples = {{"tessera explain", "Explain every candidate of this node."},
                   {"tessera explain dummy.com/npu/7", "Why does nobody get this one?"},
                   {"tessera explain default/train-0", "Why does this pod not start?"}},
      .run = ExplainName};
}

}  // namespace tessera::cli
