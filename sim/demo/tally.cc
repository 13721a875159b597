// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/tally.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "sim/demo/event.h"

namespace tessera::demo {
namespace {

using Kind = kubelet::KubeletEvent::Kind;

constexpr size_t kSummaryWidth = 65;

// "p50 120 ms, max 1.3 s (3 times)".
std::string TimesText(std::vector<Duration> times) {
  std::sort(times.begin(), times.end());
  return fmt::format("p50 {}, max {} ({})", MeasuredText(times[(times.size() - 1) / 2]),
                     MeasuredText(times.back()), Count(times.size(), "time"));
}

json::Value TimesJson(std::vector<Duration> times) {
  if (times.empty()) return nullptr;
  std::sort(times.begin(), times.end());
  return json::Object{{"count", times.size()},
                      {"p50_ms", times[(times.size() - 1) / 2].count()},
                      {"max_ms", times.back().count()}};
}

int RefusedPods(const Summary& summary) {
  int pods = 0;
  for (const auto& [message, count] : summary.refused) pods += count;
  return pods;
}

std::string ContainersText(const Summary& summary) {
  std::string text = fmt::format("{} started", summary.started);
  if (summary.restarted > 0) text += fmt::format(", {} of them again", summary.restarted);
  if (summary.start_failures > 0) text += fmt::format(", {} failed", summary.start_failures);
  return text;
}

}  // namespace

void Tally::Count(const Observation& observation) {
  if (const auto* tried = std::get_if<PodTried>(&observation.what)) {
    CountPod(*tried);
  } else if (std::get_if<PodEnded>(&observation.what) != nullptr) {
    ++summary_.ended;
  } else if (const auto* restarted = std::get_if<ContainerRestarted>(&observation.what)) {
    if (!restarted->error) ++summary_.restarted;
  } else if (const auto* told = std::get_if<KubeletTold>(&observation.what)) {
    CountTold(observation.at, *told);
  } else if (const auto* moved = std::get_if<KubeletMoved>(&observation.what)) {
    if (moved->up && kubelet_was_up_) Begin(kubelet_open_, observation.at);
    if (moved->up) kubelet_was_up_ = true;
  } else if (const auto* agent = std::get_if<AgentMoved>(&observation.what)) {
    agents_ += agent->up ? 1 : -1;
    if (agent->up && agent_was_up_ && agents_ == 1) Begin(agent_open_, observation.at);
    if (agent->up) agent_was_up_ = true;
    if (!agent->up && !agent->wanted) Fail(fmt::format("agent {} {}", agent->pid, agent->how));
  } else if (const auto* configured = std::get_if<Configured>(&observation.what)) {
    if (!configured->broken) {
      std::erase_if(listed_,
                    [&](const std::string& name) { return !configured->envs.contains(name); });
    }
  } else if (const auto* refused = std::get_if<Refused>(&observation.what)) {
    Fail(refused->what + ": " + refused->error.Text());
  } else if (const auto* expected = std::get_if<Expected>(&observation.what)) {
    ++summary_.expectations;
    if (!expected->met) {
      Fail(fmt::format("{}: not as expected: {}; seen: {}", observation.scenario_line,
                       expected->text, expected->seen));
    }
  }
}

void Tally::CountPod(const PodTried& tried) {
  const kubelet::Admission& admission = tried.admission;
  if (!admission.admitted) {
    ++summary_.refused[admission.reason + ": " + admission.message];
    return;
  }
  ++summary_.admitted;
  summary_.grants += static_cast<int>(admission.grants.size());
  summary_.start_failures += static_cast<int>(admission.start_failures.size());
}

void Tally::CountTold(Duration at, const KubeletTold& told) {
  if (told.event.kind == Kind::kContainerStarted) ++summary_.started;
  if (told.event.kind != Kind::kList) return;
  ++summary_.lists;
  listed_.insert(told.event.resource);
  Seen(kubelet_open_, summary_.kubelet_recoveries, told.event.resource, at);
  Seen(agent_open_, summary_.agent_recoveries, told.event.resource, at);
}

void Tally::Begin(std::vector<Recovery>& open, Duration at) {
  if (!listed_.empty()) open.push_back({at, listed_});
}

void Tally::Seen(std::vector<Recovery>& open, std::vector<Duration>& done,
                 const std::string& resource, Duration at) {
  for (Recovery& recovery : open) {
    recovery.missing.erase(resource);
    if (recovery.missing.empty()) done.push_back(at - recovery.since);
  }
  std::erase_if(open, [](const Recovery& recovery) { return recovery.missing.empty(); });
}

void Tally::Count(const Breach& breach) {
  summary_.broken.insert(breach.law);
  const bool grant = breach.law == Law::kOneHolder || breach.law == Law::kHealthyOnly ||
                     breach.law == Law::kExact || breach.law == Law::kExactLimits;
  if (grant) ++summary_.wrong_grants;
  Fail(fmt::format("law broken: {}: {}", LawText(breach.law), breach.text));
}

Summary Tally::Finish(Duration took, const std::map<Law, int>& checked) const {
  Summary summary = summary_;
  summary.took = took;
  summary.checked = checked;
  return summary;
}

std::string SummaryText(const Summary& summary) {
  std::string text =
      fmt::format("\n{} after {:.1f} s\n", summary.good() ? "All went well" : "FAILED",
                  static_cast<double>(summary.took.count()) / 1'000);
  const auto line = [&](std::string_view what, std::string_view said) {
    text += fmt::format("  {:<11} {}\n", what, said);
  };
  const auto row = [&](std::string_view what, std::string_view said) {
    for (const std::string& part : Wrap(said, kSummaryWidth)) {
      line(what, part);
      what = "";
    }
  };
  row("pods", fmt::format("{} admitted, {} refused, {} ended", summary.admitted,
                          RefusedPods(summary), summary.ended));
  for (const auto& [message, count] : summary.refused) {
    row("", fmt::format("{} x {}", count, OneLine(message)));
  }
  row("containers", ContainersText(summary));
  row("grants", fmt::format("{}, {} wrong", summary.grants, summary.wrong_grants));
  std::string_view heading = "recovery";
  for (const auto& [what, times] : {std::pair("kubelet restart", &summary.kubelet_recoveries),
                                    std::pair("agent restart", &summary.agent_recoveries)}) {
    if (times->empty()) continue;
    row(heading, fmt::format("{}: {}", what, TimesText(*times)));
    heading = "";
  }
  heading = "laws";
  for (Law law : kAllLaws) {
    const auto checked = summary.checked.find(law);
    const int times = checked == summary.checked.end() ? 0 : checked->second;
    if (times == 0 && !summary.broken.contains(law)) continue;  // the law was never checked
    line(heading, fmt::format("{:<6} {:>4} x  {}", summary.broken.contains(law) ? "BROKEN" : "held",
                              times, LawText(law)));
    heading = "";
  }
  for (const std::string& failure : summary.failures) row("FAILED", OneLine(failure));
  return text;
}

json::Object SummaryJson(const Summary& summary) {
  json::Object refused;
  for (const auto& [message, count] : summary.refused) refused[message] = count;
  json::Object laws;
  for (Law law : kAllLaws) {
    const auto checked = summary.checked.find(law);
    laws[LawName(law)] =
        json::Object{{"held", !summary.broken.contains(law)},
                     {"checks", checked == summary.checked.end() ? 0 : checked->second}};
  }
  json::Array failures;
  for (const std::string& failure : summary.failures) failures.emplace_back(failure);
  return json::Object{
      {"event", "summary"},
      {"good", summary.good()},
      {"took_ms", summary.took.count()},
      {"pods_admitted", summary.admitted},
      {"pods_refused", RefusedPods(summary)},
      {"refusals", std::move(refused)},
      {"pods_ended", summary.ended},
      {"containers_started", summary.started},
      {"containers_restarted", summary.restarted},
      {"start_failures", summary.start_failures},
      {"grants", summary.grants},
      {"wrong_grants", summary.wrong_grants},
      {"lists", summary.lists},
      {"expectations", summary.expectations},
      {"laws", std::move(laws)},
      {"kubelet_recovery", TimesJson(summary.kubelet_recoveries)},
      {"agent_recovery", TimesJson(summary.agent_recoveries)},
      {"failures", std::move(failures)},
  };
}

}  // namespace tessera::demo
