// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/player.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "sim/demo/agent_calls.h"
#include "sim/demo/laws.h"

namespace tessera::demo {
namespace {

// The longest wait between two checks of the processes.
constexpr Duration kSlice{100};
constexpr Duration kLookInterval{200};
// The agent compares its ledger with kubelet at most once a second.
constexpr Duration kLedgerLimit{15'000};

std::optional<std::string> Number(std::string_view what, const std::optional<int>& wanted,
                                  int seen) {
  if (!wanted || *wanted == seen) return std::nullopt;
  return fmt::format("{} {}", what, seen);
}

// The state that differs; null: all is as expected.
std::optional<std::string> ResourceDiffers(const Expect& expect,
                                           const std::vector<kubelet::ResourceStatus>& resources) {
  for (const kubelet::ResourceStatus& resource : resources) {
    if (resource.name != expect.resource) continue;
    const auto held =
        std::count_if(resource.devices.begin(), resource.devices.end(),
                      [](const kubelet::DeviceStatus& device) { return !device.pod.empty(); });
    if (auto seen = Number("capacity", expect.capacity, resource.capacity)) return seen;
    if (auto seen = Number("allocatable", expect.allocatable, resource.allocatable)) return seen;
    if (auto seen = Number("held", expect.held, static_cast<int>(held))) return seen;
    if (expect.out && resource.capacity == 0) return "it has no devices";
    // All devices of a gone agent are out, which is no evidence about them.
    if (expect.out && !resource.connected) return "its plugin has hung up";
    return Number("out", expect.out, resource.capacity - resource.allocatable);
  }
  return "kubelet does not know " + expect.resource;
}

}  // namespace

void Player::Play() {
  if (!Begin()) return;
  const Steady began = SystemClock().Now();
  Steady played = began;  // the time of the previous step
  Duration at{0};
  for (const Step& step : scenario_.steps) {
    const double speed = step.unhurried ? 1 : pace_.speed;
    const double scaled = static_cast<double>(step.at.count()) / speed;
    Steady when = began + Duration(static_cast<int64_t>(scaled));
    // On a busy machine a step is late. The time that devices need between steps must stay the
    // same.
    if (step.unhurried) when = std::max(when, played + (step.at - at));
    if (!WaitUntil(when)) return;
    played = SystemClock().Now();
    at = step.at;
    if (!PlayStep(step)) return;
  }
  stage_.SetStep("");
  CompareLedger();
}

bool Player::Begin() {
  return Do("the hardware", stage_.InstallHardware()) &&
         Do("the agent's configuration", stage_.WriteConfig(scenario_.config, false)) &&
         Do("kubelet", stage_.StartKubelet()) && Do("the agent", stage_.StartAgent());
}

bool Player::PlayStep(const Step& step) {
  stage_.SetStep(fmt::format("{}:{}", scenario_.name, step.line));
  return std::visit([this](const auto& action) { return Act(action); }, step.action);
}

bool Player::WaitUntil(Steady until) {
  while (LookAround()) {
    const Steady now = SystemClock().Now();
    if (now >= until) return true;
    interruption_.WaitUntil(std::min(until, now + kSlice));
  }
  return false;
}

bool Player::LookAround() {
  if (interruption_.signal() != 0 || !stage_.CheckAgents()) return false;
  const Steady now = SystemClock().Now();
  if (!pace_.watch_devices || stage_.agents() == 0 || now - looked_ < kLookInterval) return true;
  looked_ = now;
  // An agent that has just started does not answer yet.
  Result<Judgements> judgements = CallInventory(stage_.control_socket());
  if (judgements && *judgements != judgements_) {
    judgements_ = *std::move(judgements);
    stage_.Note(InventoryRead{judgements_});
  }
  return true;
}

bool Player::Do(const std::string& what, Status status) {
  if (status) return true;
  stage_.Note(Refused{what, status.error()});
  return false;
}

bool Player::Act(const Say& say) {
  stage_.Note(Caption{say.text});
  return true;
}

bool Player::Act(const RunPod& run) {
  tried_[run.pod.name] = stage_.RunPod(run.pod);
  return true;
}

bool Player::Act(const EndPod& end) {
  if (!end.must_run && !IsRunning(end.pod)) return true;
  return Do("end of pod " + end.pod, stage_.EndPod(end.pod));
}

bool Player::Act(const EndAll& end) {
  if (stage_.kubelet() == nullptr)
    return Do("end of pods", Fail(Reason::kUnavailable, "kubelet is down"));
  const std::string begin = fmt::format("{}/{}", kPodNamespace, end.prefix);
  for (const std::string& pod : stage_.kubelet()->Pods()) {
    if (!pod.starts_with(begin)) continue;
    const std::string name = pod.substr(sizeof kPodNamespace);
    if (!Do("end of pod " + name, stage_.EndPod(name))) return false;
  }
  return true;
}

bool Player::Act(const RestartContainer& restart) {
  return Do("restart of " + restart.pod, stage_.RestartContainer(restart.pod, restart.container));
}

bool Player::Act(const Fault& fault) {
  return Do("fault " + fault.verb, stage_.MakeFault(fault));
}

bool Player::Act(const ChangeHardware& change) {
  return Do("change of the hardware", stage_.MakeChange(change));
}

bool Player::Act(const SetCordon& cordon) {
  return Do(cordon.out ? "cordon" : "uncordon", stage_.MakeCordon(cordon));
}

bool Player::Act(const MoveKubelet& move) {
  using To = MoveKubelet::To;
  if (move.to != To::kStart && stage_.kubelet() == nullptr) {
    return Do("kubelet", Fail(Reason::kInvalid, "kubelet is down already"));
  }
  if (move.to == To::kKill) stage_.KillKubelet();
  if (move.to == To::kRestart) stage_.StopKubelet();
  return move.to == To::kKill || Do("kubelet", stage_.StartKubelet());
}

bool Player::Act(const MoveAgent& move) {
  using To = MoveAgent::To;
  const size_t expected = move.to == To::kSecondInstance ? 1 : 0;
  switch (move.to) {
    case To::kStop:
      return Do("stop of the agent", stage_.StopAgent());
    case To::kKill:
      return Do("kill of the agent", stage_.KillAgent());
    case To::kStart:
    case To::kSecondInstance:
      break;
  }
  if (stage_.agents() != expected) {
    return Do("start of an agent",
              Fail(Reason::kInvalid, "{} running already", Count(stage_.agents(), "agent")));
  }
  return Do("start of an agent", stage_.StartAgent());
}

bool Player::Act(const Reconfigure& reconfigure) {
  return Do("configuration", stage_.WriteConfig(reconfigure.config, reconfigure.broken));
}

bool Player::Act(const Expect& expect) {
  const Steady began = SystemClock().Now();
  std::optional<std::string> differs = Differs(expect);
  // Only steps start and end pods, so waiting changes nothing.
  const Duration patience = expect.pod.empty() ? expect.within : Duration(0);
  if (differs && patience > Duration(0)) stage_.Note(Waiting{expect.Text()});
  while (differs && SystemClock().Now() - began < patience) {
    if (!LookAround()) return false;
    if (stage_.kubelet() != nullptr) {
      stage_.kubelet()->WaitUntil(
          [&](const auto& resources) { return !ResourceDiffers(expect, resources); }, kSlice);
    } else {
      interruption_.WaitUntil(SystemClock().Now() + kSlice);
    }
    differs = Differs(expect);
  }
  stage_.Note(Expected{.text = expect.Text(),
                       .seen = differs.value_or(""),
                       .met = !differs,
                       .waited = SystemClock().Now() - began});
  return !differs;
}

std::optional<std::string> Player::Differs(const Expect& expect) {
  if (!expect.pod.empty()) return PodDiffers(expect);
  if (stage_.kubelet() == nullptr) return "kubelet is down";
  return ResourceDiffers(expect, stage_.Resources());
}

std::optional<std::string> Player::PodDiffers(const Expect& expect) {
  const bool running = IsRunning(expect.pod);
  if (expect.refused.empty()) {
    if (running == expect.running.value_or(true)) return std::nullopt;
    return running ? "it runs" : "it does not run";
  }
  const auto tried = tried_.find(expect.pod);
  if (tried == tried_.end()) return "no step has started it";
  if (tried->second.admitted) return "it was admitted";
  if (tried->second.message.find(expect.refused) != std::string::npos) return std::nullopt;
  return tried->second.message;
}

bool Player::IsRunning(const std::string& pod) {
  if (stage_.kubelet() == nullptr) return false;
  const std::vector<std::string> pods = stage_.kubelet()->Pods();
  return std::find(pods.begin(), pods.end(), fmt::format("{}/{}", kPodNamespace, pod)) !=
         pods.end();
}

std::vector<Holding> Player::Granted() {
  std::vector<Holding> holdings;
  for (const std::string& pod : stage_.kubelet()->Pods()) {
    const std::string name = pod.substr(sizeof kPodNamespace);
    for (const kubelet::ContainerGrant& grant : stage_.kubelet()->GrantsOf(kPodNamespace, name)) {
      if (grant.container == kInitContainer) continue;
      holdings.push_back({.pod_namespace = kPodNamespace,
                          .pod = name,
                          .pod_uid = {},
                          .container = grant.container,
                          .resource = grant.resource,
                          .share_ids = grant.ids});
    }
  }
  return holdings;
}

void Player::CompareLedger() {
  if (stage_.kubelet() == nullptr || stage_.agents() == 0) return;
  stage_.Note(Waiting{"the agent's ledger to be what kubelet granted"});
  const std::set<std::string> granted = LedgerLines(Granted());
  const Steady end = SystemClock().Now() + kLedgerLimit;
  Result<std::vector<Holding>> ledger = CallLedger(stage_.control_socket());
  while ((!ledger || LedgerLines(*ledger) != granted) && SystemClock().Now() < end) {
    if (!WaitUntil(SystemClock().Now() + kSlice)) return;
    ledger = CallLedger(stage_.control_socket());
  }
  stage_.ReadLimits();
  if (Do("the ledger", ledger ? Status() : Fail(ledger.error()))) stage_.Note(LedgerRead{*ledger});
  stage_.Note(Waiting{""});
}

}  // namespace tessera::demo
