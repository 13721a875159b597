// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/scenario.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/pair/pair_config.h"
#include "config/load.h"
#include "config/schema.h"
#include "kinds/kinds.h"
#include "sim/demo/steps.h"

namespace tessera::demo {
namespace {

using config::Document;
using config::Node;

constexpr int kMaxSeed = 1'000'000'000;

kubelet::ConnectionRules ReadRules(Document& document, const Node& node) {
  const std::vector<std::string> versions = {"1.36", "1.37"};
  std::optional<std::string> version = document.OneOf(node, "kubelet", versions);
  return version == "1.37" ? kubelet::ConnectionRules::kFrom137
                           : kubelet::ConnectionRules::kUpTo136;
}

void ReadHead(Document& document, Scenario& scenario) {
  const Node& root = document.root();
  document.AllowKeys(root, "", {"title", "seed", "kubelet", "config", "steps"});
  if (const Node* title = root.Find("title")) {
    scenario.title = document.Text(*title, "title").value_or("");
  } else {
    scenario.title = document.name();
  }
  if (const Node* seed = root.Find("seed")) {
    scenario.seed = static_cast<uint64_t>(document.Int(*seed, "seed", 0, kMaxSeed).value_or(1));
  }
  if (const Node* rules = root.Find("kubelet")) scenario.rules = ReadRules(document, *rules);
  const Node* section = root.Find("config");
  if (section == nullptr) {
    document.Report(Reason::kConfigMissing, root, "config is missing: the agent's configuration");
  } else {
    scenario.config = ReadAgentConfig(document, *section, "config", false);
  }
}

}  // namespace

std::string PodText(const std::string& pod_namespace, const std::string& name) {
  return pod_namespace.empty() || pod_namespace == kPodNamespace ? name
                                                                 : pod_namespace + "/" + name;
}

std::string Expect::Text() const {
  if (!pod.empty()) {
    if (!refused.empty()) return fmt::format("pod {} refused with '{}'", pod, refused);
    return fmt::format("pod {} {}", pod, running.value_or(true) ? "running" : "not running");
  }
  std::string text;
  const auto add = [&](std::string_view what, const std::optional<int>& number) {
    if (number) text += fmt::format("{}{} {}", text.empty() ? " " : ", ", what, *number);
  };
  add("capacity", capacity);
  add("allocatable", allocatable);
  add("held", held);
  add("out", out);
  return resource + text;
}

std::map<std::string, std::string> AgentFlags(const std::string& directory) {
  return {{config::FlagName("kubelet.root"), directory + "/kubelet"},
          {config::FlagName("kubelet.socketPrefix"), "demo"},  // the paths of sockets must be short
          {config::FlagName("state.dir"), directory + "/state"},
          {config::FlagName("control.socket"), directory + "/agent.sock"},
          {config::FlagName("http.address"), "off"}};
}

AgentConfig ReadAgentConfig(Document& scenario, const Node& node, const std::string& path,
                            bool broken) {
  const std::optional<std::string> text = scenario.Text(node, path);
  if (!text) return {};
  // The text begins on the line below its key. Empty lines before it keep its line numbers correct.
  const std::string placed = std::string(static_cast<size_t>(node.line), '\n') + *text;
  const config::LoadResult loaded =
      config::Load(FullSchema(), {.file = Document::Parse(scenario.name(), placed),
                                  .environment = {},
                                  .flags = AgentFlags("/demo")});
  if (broken && loaded.ok()) {
    scenario.Report(Reason::kConfigBadValue, node, path + " is a good configuration");
  }
  for (const config::Problem& problem : loaded.errors) {
    if (broken) break;
    Node at;
    at.line = problem.line;
    at.column = node.line == problem.line ? node.column : 1;
    at.scalar = problem.text;
    scenario.Report(problem.reason, at, path + ": " + problem.message, problem.suggestion);
  }
  AgentConfig config{.text = *text, .envs = {}};
  for (const config::Resource& resource : loaded.config.resources) {
    const std::vector<Strategy>& strategies = resource.rendering.strategies;
    const bool named = std::ranges::count(strategies, Strategy::kEnvvar) > 0;
    config.envs[resource.name] = named ? resource.rendering.env : "";
    if (const Kind* kind = KindOf(resource)) config.kinds.emplace(kind->section.name);
    if (const auto* pair = resource.kind.As<PairConfig>()) {
      config.paired.insert({resource.name, pair->gpu, pair->nic});
    }
    if (!resource.rendering.fractions) continue;
    config.vgpus[resource.name] = {*resource.rendering.fractions, resource.cdi_dir};
    // Grants by CDI have no variable.
    if (WritesCdi(resource.rendering)) config.envs[resource.name] = "";
  }
  return config;
}

ReadScenario ParseScenario(Document document) {
  Scenario scenario;
  scenario.name = document.name();
  if (document.ok()) {
    ReadHead(document, scenario);
    const Node root = document.root();
    StepReader reader(document, scenario.seed);
    const Node* steps = root.Find("steps");
    size_t index = 0;
    for (const Node& step : document.List(steps, "steps")) {
      reader.Read(step, fmt::format("steps[{}]", index++));
    }
    scenario.steps = reader.Take();
    if (scenario.steps.empty() && document.ok()) {
      document.Report(Reason::kConfigMissing, root, "steps is missing: nothing would happen");
    }
  }
  std::stable_sort(scenario.steps.begin(), scenario.steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  return {std::move(scenario), document.problems()};
}

}  // namespace tessera::demo
