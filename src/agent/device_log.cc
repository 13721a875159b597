// SPDX-License-Identifier: Apache-2.0
#include "agent/device_log.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "fraction/granted_metrics.h"

namespace tessera::agent {
namespace {

// More simultaneous transitions than this are logged as one line per state.
constexpr size_t kTransitionsInDetail = 8;

// The device passed its first check, as all do at a normal start.
bool IsFirstPass(const Transition& step) {
  return step.before.state == HealthState::kUnverified && step.after.state == HealthState::kHealthy;
}
// The metric's state of a cordoned device, whatever its health.
constexpr std::string_view kCordoned = "cordoned";

void LogStep(const Transition& step) {
  const std::string_view from = HealthStateName(step.before.state);
  const std::string event = "device " + std::string(HealthStateName(step.after.state));
  if (step.after.offered()) {
    log::Info(event, {{"device", step.key.Text()}, {"from", from}});
  } else {
    log::Warn(event, Error{step.after.reason, step.after.detail},
              {{"device", step.key.Text()}, {"from", from}});
  }
}

// The number of devices by source and state.
std::map<std::string, std::map<std::string_view, double>> CountDevices(const Node& node) {
  std::map<std::string, std::map<std::string_view, double>> counts;
  for (const Device& device : node.inventory()->devices) {
    const bool cordoned = node.CordonOf(device) != nullptr;
    ++counts[device.key.source]
            [cordoned ? kCordoned : HealthStateName(node.VerdictOf(device.key).state)];
  }
  return counts;
}

}  // namespace

void LogTransitions(const std::string& source, const std::vector<Transition>& steps,
                    http::Metrics& metrics) {
  const auto passes = std::ranges::count_if(steps, IsFirstPass);
  const bool in_detail = steps.size() <= kTransitionsInDetail;
  std::map<std::string_view, size_t> counts;  // of those without a line, by the devices' new state
  for (const Transition& step : steps) {
    const bool good = step.after.state == HealthState::kHealthy;
    metrics.Add(http::Metric::kHealthTransitions,
                {source, std::string(HealthStateName(step.before.state)),
                 std::string(HealthStateName(step.after.state)),
                 good ? "" : std::string(ReasonName(step.after.reason))});
    if (in_detail && !(passes > 1 && IsFirstPass(step))) {
      LogStep(step);
    } else {
      ++counts[HealthStateName(step.after.state)];
    }
  }
  for (const auto& [state, count] : counts) {
    log::Info("devices " + std::string(state), {{"resource", source}, {"count", count}});
  }
}

void ReportHolders(const std::string& source, const std::vector<Transition>& steps,
                   const Ledger& ledger) {
  std::set<std::string> devices;
  for (const Transition& step : steps) {
    const bool fell = step.before.offered() && !step.after.offered();
    if (fell && step.after.reason == Reason::kMpsDown) devices.insert(step.key.id);
  }
  if (devices.empty()) return;
  std::set<std::string> pods;
  for (const Holding& holding : ledger.holdings()) {
    const bool concerned =
        holding.resource == source &&
        std::ranges::any_of(ledger.DevicesOf(holding),
                            [&](const std::string& device) { return devices.contains(device); });
    if (!concerned) continue;
    pods.insert(holding.pod.empty() ? holding.pod_uid : holding.pod_namespace + "/" + holding.pod);
  }
  if (pods.empty()) return;
  log::Warn("pods may have lost MPS; restart those whose CUDA calls fail",
            {{"resource", source},
             {"pods", Join(std::vector<std::string>(pods.begin(), pods.end()), ", ")}});
}

void RefreshMetrics(const View& view, http::Metrics& metrics) {
  metrics.Set(http::Metric::kWriter, {}, view.writer ? 1 : 0);
  metrics.Set(http::Metric::kCheckpointUnknown, {}, view.checkpoint_unknown ? 1 : 0);
  auto devices = CountDevices(view.node);
  std::map<std::string, double> held;
  for (const Holding& holding : view.node.ledger().holdings()) {
    held[holding.resource] += static_cast<double>(holding.share_ids.size());
  }
  for (const auto& [name, resource] : view.resources) {
    std::vector<std::string_view> states = {kCordoned};
    for (HealthState state :
         {HealthState::kUnverified, HealthState::kHealthy, HealthState::kSuspect,
          HealthState::kUnhealthy, HealthState::kRecovering}) {
      states.push_back(HealthStateName(state));
    }
    for (std::string_view state : states) {
      metrics.Set(http::Metric::kDevices, {name, std::string(state)}, devices[name][state]);
    }
    OfferPtr offer = resource->offer();
    const size_t healthy = offer->HealthyShares();
    metrics.Set(http::Metric::kShares, {name, "healthy"}, static_cast<double>(healthy));
    metrics.Set(http::Metric::kShares, {name, "unhealthy"},
                static_cast<double>(offer->shares.size() - healthy));
    metrics.Set(http::Metric::kSharesHeld, {name}, held[name]);
    const auto granted = view.granted.find(name);
    SetGranted(granted == view.granted.end() ? Granted() : granted->second, *offer,
               resource->resource().rendering, metrics);
  }
}

void RefreshFaults(const Faults& faults, http::Metrics& metrics) {
  for (const std::string_view name : kFaultNames) {
    const bool there = std::ranges::find(faults, name, &Fault::name) != faults.end();
    metrics.Set(http::Metric::kFault, {name}, there ? 1 : 0);
  }
}

}  // namespace tessera::agent
