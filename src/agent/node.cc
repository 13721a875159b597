// SPDX-License-Identifier: Apache-2.0
#include "agent/node.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::agent {
namespace {

const Verdict kUnverified;

bool BadNews(const Transition& step) {
  return step.before.offered() && !step.after.offered();
}

}  // namespace

Node::Node(const Clock& clock, Parameters parameters, NodeObserver& observer)
    : clock_(clock),
      parameters_(parameters),
      observer_(observer),
      inventory_(std::make_shared<Inventory>()),
      ledger_(parameters.ledger_pending) {}

void Node::Restore(const SavedState& state, std::string_view boot_id) {
  cordons_ = state.cordons;
  policies_ = state.policies;
  auto inventory = std::make_shared<Inventory>();
  inventory->generation = 1;
  inventory->devices = state.devices;
  std::sort(inventory->devices.begin(), inventory->devices.end(),
            [](const Device& a, const Device& b) { return DeviceKeyLess()(a.key, b.key); });
  auto same = [](const Device& a, const Device& b) { return a.key == b.key; };
  auto& devices = inventory->devices;
  devices.erase(std::unique(devices.begin(), devices.end(), same), devices.end());
  inventory_ = std::move(inventory);
  if (state.boot_id != boot_id) return;
  Steady now = clock_.Now();
  for (const auto& [key, verdict] : state.verdicts) health_[key] = {verdict, now};
}

SavedState Node::Snapshot(std::string_view boot_id) const {
  SavedState state;
  state.boot_id = boot_id;
  state.devices = inventory_->devices;
  state.cordons = cordons_;
  state.policies = policies_;
  for (const Device& device : inventory_->devices) {
    auto at = health_.find(device.key);
    if (at != health_.end()) state.verdicts[device.key] = at->second.verdict;
  }
  return state;
}

void Node::AdoptCordons(std::map<DeviceKey, tessera::Cordon, DeviceKeyLess> cordons) {
  if (cordons == cordons_) return;
  std::set<std::string> sources;
  for (const auto* both : {&cordons, &cordons_}) {
    for (const auto& [key, cordon] : *both) sources.insert(key.source);
  }
  cordons_ = std::move(cordons);
  for (const std::string& source : sources) observer_.SourceChanged(source, true);
}

bool Node::Found(const std::string& source, std::vector<Device> devices) {
  Merged merged = Merge(inventory_, source, std::move(devices),
                        [this](const DeviceKey& key) { return ledger_.MayBeInUse(key); });
  bool changed = merged.inventory != inventory_;
  inventory_ = merged.inventory;
  std::vector<Transition> steps;
  bool may_leave = false;
  for (const DeviceKey& key : merged.removed) health_.erase(key);
  for (const Device& device : inventory_->devices) {
    if (device.key.source != source) continue;
    // What the scan itself shows is evidence like any other, and goes the same way.
    if (!device.present) {
      may_leave |= !ledger_.MayBeInUse(device.key);
      Judge(
          device.key,
          {EvidenceKind::kFatal, EvidenceSource::kScan, Reason::kVanished, "it is no longer there"},
          steps);
    } else if (device.defect) {
      Judge(device.key,
            {EvidenceKind::kFatal, EvidenceSource::kScan, device.defect->reason,
             device.defect->message},
            steps);
    }
  }
  Report(source, steps, changed, !merged.vanished.empty() || !merged.removed.empty());
  return may_leave;
}

void Node::Forget(const std::string& source) {
  inventory_ = WithoutSource(inventory_, source);
  std::erase_if(health_, [&](const auto& item) { return item.first.source == source; });
}

void Node::Observe(const std::string& source, const std::vector<Observation>& observations) {
  std::vector<Transition> steps;
  for (const Observation& observation : observations) {
    const Device* device = inventory_->Find(observation.key);
    // Good evidence of a device that a scan found broken or gone proves nothing.
    if (device == nullptr) continue;
    bool good = observation.evidence.kind == EvidenceKind::kGood;
    if (good && (device->defect || !device->present)) continue;
    Judge(observation.key, observation.evidence, steps);
  }
  Report(source, steps, false, false);
}

void Node::Judge(const DeviceKey& key, const Evidence& evidence, std::vector<Transition>& steps) {
  Steady now = clock_.Now();
  auto [at, inserted] = health_.try_emplace(key);
  Health& health = at->second;
  if (inserted) health.verdict.since = now;
  Verdict after = tessera::Judge(health.verdict, evidence, parameters_.policy, now);
  if (after.state != health.verdict.state) steps.push_back({key, health.verdict, after});
  health.verdict = std::move(after);
  health.heard = now;
}

void Node::Report(const std::string& source, const std::vector<Transition>& steps, bool changed,
                  bool bad_news) {
  if (!steps.empty()) observer_.Transitions(source, steps);
  if (steps.empty() && !changed) return;
  bad_news |= std::any_of(steps.begin(), steps.end(), BadNews);
  observer_.SourceChanged(source, bad_news);
}

void Node::Tick() {
  Steady now = clock_.Now();
  std::map<std::string, std::vector<Observation>> stale;
  for (const auto& [key, health] : health_) {
    if (!health.verdict.offered() || now - health.heard < parameters_.stale_after) continue;
    stale[key.source].push_back(
        {key,
         {EvidenceKind::kFatal, EvidenceSource::kCheck, Reason::kCheckStale,
          "nothing was heard of it for " + MeasuredText(now - health.heard)}});
  }
  for (const auto& [source, observations] : stale) Observe(source, observations);
}

Result<DeviceKey> Node::Resolve(std::string_view name) const {
  std::vector<DeviceKey> matches;
  for (const Device& device : inventory_->devices) {
    if (device.key.Text() == name) return device.key;
    if (device.key.id == name) matches.push_back(device.key);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) return Fail(Reason::kNotFound, "there is no device {}", name);
  return Fail(Reason::kInvalid, "device {} could be {} or {}: name it in full", name,
              matches[0].Text(), matches[1].Text());
}

Result<DeviceKey> Node::Cordon(std::string_view name, std::string_view reason) {
  DeviceKey key = TRY(Resolve(name));
  cordons_[key] = {std::string(reason), clock_.WallNow()};
  observer_.SourceChanged(key.source, true);
  return key;
}

Result<DeviceKey> Node::Uncordon(std::string_view name) {
  // A cordoned device need not be here any more.
  auto cordoned = std::find_if(cordons_.begin(), cordons_.end(),
                               [&](const auto& item) { return item.first.Text() == name; });
  DeviceKey key = cordoned != cordons_.end() ? cordoned->first : TRY(Resolve(name));
  if (cordons_.erase(key) == 0) {
    return Fail(Reason::kNotFound, "device {} is not cordoned", key.Text());
  }
  observer_.SourceChanged(key.source, false);
  return key;
}

std::optional<Error> Node::TroubleOf(const Device& device) const {
  if (!device.present) return Error{Reason::kVanished, "it is no longer there"};
  if (device.defect) return device.defect;
  if (const tessera::Cordon* cordon = CordonOf(device.key)) {
    return Error{Reason::kCordoned, "cordoned: " + cordon->reason};
  }
  const Verdict& verdict = VerdictOf(device.key);
  if (verdict.offered()) return std::nullopt;
  if (verdict.state == HealthState::kUnverified && verdict.detail.empty()) {
    return Error{verdict.reason, "not checked yet on this boot"};
  }
  return Error{verdict.reason, verdict.detail};
}

Policy Node::PolicyFor(const std::string& source, const Policy& wanted) {
  auto [former, first] = policies_.try_emplace(source, wanted);
  if (!MayBeInUse(source)) former->second = wanted;
  return former->second;
}

bool Node::MayBeInUse(const std::string& source) const {
  return std::any_of(inventory_->devices.begin(), inventory_->devices.end(),
                     [&](const Device& device) {
                       return device.key.source == source && ledger_.MayBeInUse(device.key);
                     });
}

const Verdict& Node::VerdictOf(const DeviceKey& key) const {
  auto at = health_.find(key);
  return at == health_.end() ? kUnverified : at->second.verdict;
}

const tessera::Cordon* Node::CordonOf(const DeviceKey& key) const {
  auto at = cordons_.find(key);
  return at == cordons_.end() ? nullptr : &at->second;
}

bool Node::Verified(std::string_view source) const {
  return std::all_of(inventory_->devices.begin(), inventory_->devices.end(),
                     [&](const Device& device) {
                       return device.key.source != source || !device.present ||
                              VerdictOf(device.key).state != HealthState::kUnverified;
                     });
}

}  // namespace tessera::agent
