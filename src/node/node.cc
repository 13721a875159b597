// SPDX-License-Identifier: Apache-2.0
#include "node/node.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

const Verdict kUnverified;
constexpr size_t kManyUnsaved = 1'000;

bool IsFall(const Transition& step) {
  return step.before.offered() && !step.after.offered();
}

void Append(std::vector<Changes>& all, std::vector<Changes> more) {
  std::ranges::move(more, std::back_inserter(all));
}

// Empty if nothing `changed` and there is no transition.
std::vector<Changes> ChangesOf(const std::string& source, std::vector<Transition> steps,
                               bool changed = false, Urgency urgency = Urgency::kCanWait) {
  if (steps.empty() && !changed) return {};
  if (std::ranges::any_of(steps, IsFall)) urgency = Urgency::kAtOnce;
  return {{source, std::move(steps), urgency}};
}

// Compares two maps of errors. New or changed errors are urgent; ended ones can wait.
template <class Map, class Note>
void NoteDifference(const Map& before, const Map& after, Note note) {
  for (const auto& [key, why] : before) {
    if (!after.contains(key)) note(key, Urgency::kCanWait);
  }
  for (const auto& [key, why] : after) {
    const auto known = before.find(key);
    if (known == before.end() || known->second != why) note(key, Urgency::kAtOnce);
  }
}

}  // namespace

Node::Node(const Clock& clock, Parameters parameters)
    : clock_(clock),
      parameters_(parameters),
      inventory_(std::make_shared<Inventory>()),
      ledger_(parameters.ledger_pending) {}

void Node::Restore(Facts facts, Verdicts verdicts) {
  cordons_ = std::move(facts.cordons);
  plans_ = std::move(facts.plans);
  auto inventory = std::make_shared<Inventory>();
  inventory->generation = 1;
  inventory->devices = std::move(facts.devices);
  inventory->devices.SortUnique();
  awaited_ = std::move(verdicts);
  Replace(std::move(inventory));
  (void)LookAtRivals();
}

void Node::Replace(InventoryPtr inventory) {
  const InventoryPtr former = std::exchange(inventory_, std::move(inventory));
  const DeviceList& before = former->devices;
  std::vector<Health> health(inventory_->devices.size());
  std::vector<size_t> came, gone;
  size_t old = 0;
  for (size_t i = 0; i < health.size(); ++i) {
    const DeviceKey& key = inventory_->devices[i].key;
    for (; old < before.size() && DeviceKeyLess()(before[old].key, key); ++old) {
      Depart(before[old], health_[old].verdict);
    }
    if (old < before.size() && before[old].key == key) {
      const bool is_here = inventory_->devices[i].present;
      if (is_here != before[old].present) (is_here ? came : gone).push_back(i);
      health[i] = std::move(health_[old++]);
      continue;
    }
    came.push_back(i);
    if (auto saved = awaited_.find(key); saved != awaited_.end()) {
      health[i] = {std::move(saved->second), clock_.Now()};
      awaited_.erase(saved);
    }
  }
  for (; old < before.size(); ++old) Depart(before[old], health_[old].verdict);
  health_ = std::move(health);
  expected_ = 0;
  IndexRelations();
  for (const size_t i : came) TakeOver(i);
  Rename(gone, came);
  ++facts_generation_;
}

std::optional<size_t> Node::PositionOf(const DeviceKey& key) const {
  const DeviceList& devices = inventory_->devices;
  if (expected_ >= devices.size() || devices[expected_].key != key) {
    const auto position = inventory_->PositionOf(key);
    if (!position) return std::nullopt;
    expected_ = *position;
  }
  return expected_++;
}

void Node::VerdictsSaved() {
  all_unsaved_ = false;
  fall_unsaved_ = false;
  unsaved_.clear();
}

std::vector<Changes> Node::AdoptCordons(Cordons cordons) {
  if (cordons == cordons_) return {};
  std::set<std::string> sources;
  for (const auto* both : {&cordons, &cordons_}) {
    for (const auto& [key, cordon] : *both) sources.insert(key.source);
  }
  cordons_ = std::move(cordons);
  return CordonsChanged(std::move(sources), Urgency::kAtOnce);
}

void Node::AdoptPlans(const Plans& plans) {
  for (const auto& [source, plan] : plans) {
    if (!ledger_.reconciled(source)) plans_[source] = plan;
  }
  ++facts_generation_;
}

std::vector<Changes> Node::AdoptFalls(const Verdicts& verdicts) {
  std::map<std::string, std::vector<Transition>> steps;
  for (const auto& [key, verdict] : verdicts) {
    auto position = PositionOf(key);
    if (!position || verdict.offered()) continue;
    Verdict& held = health_[*position].verdict;
    const bool unverified = held.state == HealthState::kUnverified;
    if (!unverified && (!held.offered() || verdict.since <= held.since)) continue;
    steps[key.source].push_back({key, held, verdict});
    held = verdict;
  }
  all_unsaved_ |= !steps.empty();
  fall_unsaved_ |= !steps.empty();
  std::vector<Changes> changes;
  for (auto& [source, taken] : steps) Append(changes, ChangesOf(source, std::move(taken)));
  return changes;
}

std::vector<Changes> Node::UpdateDevices(const std::string& source, std::vector<Device> devices) {
  Merged merged = Merge(inventory_, source, std::move(devices),
                        [this](const DeviceKey& key) { return MayBeInUse(key); });
  bool changed = merged.inventory != inventory_;
  if (changed) Replace(merged.inventory);
  std::vector<Transition> steps;
  for (size_t i = 0; i < inventory_->devices.size(); ++i) {
    const Device& device = inventory_->devices[i];
    if (device.key.source != source) continue;
    // The scan's own findings are evidence, and are judged like any other.
    if (!device.present) {
      // The device is out for a cause that lasts, and that cause says more.
      if (OutlastsChecks(health_[i].verdict, clock_.Now())) continue;
      Judge(
          i,
          {EvidenceKind::kFatal, EvidenceSource::kScan, Reason::kVanished, "it is no longer there"},
          steps);
    } else if (device.defect) {
      Judge(i,
            {EvidenceKind::kFatal, EvidenceSource::kScan, device.defect->reason,
             device.defect->message},
            steps);
    }
  }
  const bool lost = !merged.vanished.empty() || !merged.removed.empty();
  // Rivals' changes are reported before the new devices.
  std::vector<Changes> changes = LookAtRivals();
  Append(changes,
         ChangesOf(source, std::move(steps), changed, lost ? Urgency::kAtOnce : Urgency::kCanWait));
  if (lost) Append(changes, SharersOf(source));
  return changes;
}

bool Node::AnyMayLeave(const std::string& source) const {
  return std::ranges::any_of(inventory_->devices, [&](const Device& device) {
    return device.key.source == source && !device.present && !MayBeInUse(device.key);
  });
}

std::vector<Changes> Node::Observe(const std::string& source,
                                   const std::vector<Observation>& observations) {
  std::vector<Transition> steps;
  for (const Observation& observation : observations) {
    auto position = PositionOf(observation.key);
    if (!position) continue;
    // A good check does not clear a device that a scan found broken or absent.
    const Device& device = inventory_->devices[*position];
    bool good = observation.evidence.kind == EvidenceKind::kGood;
    if (good && (device.defect || !device.present)) continue;
    Judge(*position, observation.evidence, steps);
    if (observation.evidence.kind == EvidenceKind::kReset) ResetElsewhere(device);
  }
  return ChangesOf(source, std::move(steps));
}

std::vector<Changes> Node::Unverify(const std::string& source, Reason reason,
                                    const std::string& detail) {
  std::vector<Transition> steps;
  for (size_t i = 0; i < health_.size(); ++i) {
    if (inventory_->devices[i].key.source != source) continue;
    Verdict after = health_[i].verdict;
    after.passes = 0;
    if (after.offered() || after.state == HealthState::kUnverified) {
      if (after.offered()) after.since = clock_.Now();
      after.state = HealthState::kUnverified;
      after.reason = reason;
      after.detail = detail;
    }
    Set(i, std::move(after), steps);
  }
  return ChangesOf(source, std::move(steps), true);
}

void Node::Judge(size_t position, const Evidence& evidence, std::vector<Transition>& steps) {
  Steady now = clock_.Now();
  Health& health = health_[position];
  if (health.heard == Steady{}) health.verdict.since = now;
  health.heard = now;
  Set(position, tessera::Judge(health.verdict, evidence, parameters_.policy, now), steps);
}

void Node::Set(size_t position, Verdict after, std::vector<Transition>& steps) {
  Health& health = health_[position];
  if (after == health.verdict) return;
  const DeviceKey& key = inventory_->devices[position].key;
  if (after.state != health.verdict.state) steps.push_back({key, health.verdict, after});
  fall_unsaved_ |= !after.offered();
  health.verdict = std::move(after);
  if (all_unsaved_) return;
  unsaved_.insert(key);
  // With this many, saving all verdicts takes no longer.
  if (unsaved_.size() > kManyUnsaved) all_unsaved_ = true;
}

bool Node::AnyVanished() const {
  return std::ranges::any_of(inventory_->devices,
                             [](const Device& device) { return !device.present; });
}

std::vector<Changes> Node::Tick() {
  const Steady now = clock_.Now();
  std::map<std::string, std::vector<Observation>> stale;
  for (size_t i = 0; i < health_.size(); ++i) {
    const std::optional<Steady> limit = StaleFrom(i);
    if (!limit || now < *limit) continue;
    const DeviceKey& key = inventory_->devices[i].key;
    stale[key.source].push_back(
        {key,
         {EvidenceKind::kFatal, EvidenceSource::kCheck, Reason::kCheckStale,
          "no check or event has reported on it for " + MeasuredText(now - health_[i].heard)}});
  }
  std::vector<Changes> changes;
  for (const auto& [source, observations] : stale) Append(changes, Observe(source, observations));
  return changes;
}

std::optional<Steady> Node::NextStale() const {
  std::optional<Steady> next;
  for (size_t i = 0; i < health_.size(); ++i) {
    const std::optional<Steady> limit = StaleFrom(i);
    if (limit) next = std::min(next.value_or(*limit), *limit);
  }
  return next;
}

std::optional<Steady> Node::StaleFrom(size_t position) const {
  const Health& health = health_[position];
  if (!health.verdict.offered() || !inventory_->devices[position].present) return std::nullopt;
  return health.heard + parameters_.stale_after;
}

// Devices whose ids start with `name`, which must have at least a UUID's first part.
std::vector<DeviceKey> Node::KeysStartingWith(std::string_view name) const {
  constexpr std::string_view kCut = "…";
  constexpr size_t kShortest = std::string_view("GPU-12345678").size();
  if (name.ends_with(kCut)) name.remove_suffix(kCut.size());
  std::vector<DeviceKey> matches;
  for (const Device& device : inventory_->devices) {
    std::string_view id = name;
    const std::string source = device.key.source + "/";
    if (id.starts_with(source)) id.remove_prefix(source.size());
    if (id.size() >= kShortest && device.key.id.starts_with(id)) matches.push_back(device.key);
  }
  return matches;
}

Result<DeviceKey> Node::Resolve(std::string_view name) const {
  std::vector<DeviceKey> matches;
  for (const Device& device : inventory_->devices) {
    if (device.key.Text() == name) return device.key;
    if (device.key.id == name) matches.push_back(device.key);
  }
  if (matches.empty()) matches = KeysStartingWith(name);
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) return Fail(Reason::kNotFound, "there is no device {}", name);
  return Fail(Reason::kInvalid, "device {} could be {} or {}: name it in full", name,
              matches[0].Text(), matches[1].Text());
}

Result<Node::OrderResult> Node::Cordon(std::string_view name, std::string_view reason) {
  DeviceKey key = TRY(Resolve(name));
  cordons_[key] = {std::string(reason), clock_.WallNow()};
  return OrderResult{key, CordonsChanged({key.source}, Urgency::kAtOnce)};
}

Result<Node::OrderResult> Node::Uncordon(std::string_view name) {
  // A cordoned device may be absent.
  auto cordoned = std::find_if(cordons_.begin(), cordons_.end(),
                               [&](const auto& item) { return item.first.Text() == name; });
  DeviceKey key = cordoned != cordons_.end() ? cordoned->first : TRY(Resolve(name));
  const Device* device = inventory_->Find(key);
  const size_t lifted = std::erase_if(cordons_, [&](const auto& item) {
    return item.first == key || (device != nullptr && Concerns(item.first, *device));
  });
  if (lifted == 0) return Fail(Reason::kNotFound, "device {} is not cordoned", key.Text());
  return OrderResult{key, CordonsChanged({key.source}, Urgency::kCanWait)};
}

// Called for thousands of devices in a row. So the search for shared hardware is skipped if the
// node has none.
std::optional<Error> Node::OwnTroubleOf(const Device& device) const {
  if (std::optional<Error> absent = AbsenceOf(device)) return absent;
  if (!by_hardware_.empty()) {
    if (std::optional<Error> held = HeldElsewhere(device)) return held;
  }
  if (const Error* out = KeptOutBy(device)) return *out;
  if (std::optional<Error> sick = SicknessOf(device)) return sick;
  if (const Error* obstacle = ObstacleOf(device)) return *obstacle;
  return std::nullopt;
}

// Null if there is no obstacle.
const Error* Node::ObstacleOf(const Device& device) const {
  if (outstanding_.empty() && obstacles_.empty() && prepare_obstacles_.empty()) return nullptr;
  const auto own = outstanding_.find(device.key);
  if (own != outstanding_.end()) return &own->second;
  for (const auto* obstacles : {&obstacles_, &prepare_obstacles_}) {
    const auto obstacle = obstacles->find(device.key.source);
    if (obstacle != obstacles->end()) return &obstacle->second;
  }
  return nullptr;
}

// The error of an absent device, independent of its verdict.
std::optional<Error> Node::AbsenceOf(const Device& device) const {
  if (!device.present) {
    return Error{Reason::kVanished, retired_.contains(device.key.source)
                                        ? "its resource is no longer configured"
                                        : "it is no longer there"};
  }
  if (device.defect) return device.defect;
  const tessera::Cordon* cordon = cordons_.empty() ? nullptr : CordonOf(device);
  if (cordon == nullptr) return std::nullopt;
  return Error{Reason::kCordoned, "cordoned: " + cordon->reason};
}

std::optional<Error> Node::SicknessOf(const Device& device) const {
  // Callers usually pass all devices in order, so the next position is tried first, by address.
  const DeviceList& devices = inventory_->devices;
  const bool expected = expected_ < devices.size() && &devices[expected_] == &device;
  const Verdict& verdict = expected ? health_[expected_++].verdict : VerdictOf(device.key);
  if (verdict.offered()) return std::nullopt;
  if (verdict.state == HealthState::kUnverified && verdict.detail.empty()) {
    return Error{verdict.reason, "not checked yet on this boot"};
  }
  return Error{verdict.reason, verdict.detail};
}

std::vector<Changes> Node::SetObstacle(const std::string& source, std::optional<Error> why) {
  const auto known = obstacles_.find(source);
  if (known == obstacles_.end() ? !why : why == known->second) return {};
  const Urgency urgency = why ? Urgency::kAtOnce : Urgency::kCanWait;
  if (why) {
    obstacles_.insert_or_assign(source, *std::move(why));
  } else {
    obstacles_.erase(source);
  }
  return ChangesOf(source, {}, true, urgency);
}

std::vector<Changes> Node::SetPrepared(DeviceKeys held, DeviceObstacles outstanding,
                                       std::map<std::string, Error> obstacles, DeviceKeys left) {
  std::map<std::string, Urgency> sources;
  const auto note = [&](const std::string& source, Urgency urgency) {
    Urgency& most = sources.try_emplace(source, urgency).first->second;
    most = std::max(most, urgency);
  };
  NoteDifference(outstanding_, outstanding,
                 [&](const DeviceKey& key, Urgency urgency) { note(key.source, urgency); });
  NoteDifference(prepare_obstacles_, obstacles, note);
  // A prepared device keeps the same hardware out in other sources, so these change too.
  std::vector<DeviceKey> differ;
  std::ranges::set_symmetric_difference(ledger_.prepared(), held, std::back_inserter(differ),
                                        DeviceKeyLess());
  for (const DeviceKey& key : differ) {
    const Urgency urgency = held.contains(key) ? Urgency::kAtOnce : Urgency::kCanWait;
    for (const Changes& sharer : SharersOf(key.source)) note(sharer.source, urgency);
  }
  differ.clear();
  std::ranges::set_symmetric_difference(left_prepared_, left, std::back_inserter(differ),
                                        DeviceKeyLess());
  for (const DeviceKey& key : differ) note(key.source, Urgency::kAtOnce);
  left_prepared_ = std::move(left);
  outstanding_ = std::move(outstanding);
  prepare_obstacles_ = std::move(obstacles);
  ledger_.SetPrepared(std::move(held));
  std::vector<Changes> changes;
  for (const auto& [source, urgency] : sources) {
    Append(changes, ChangesOf(source, {}, true, urgency));
  }
  return changes;
}

Plan Node::PlanFor(const std::string& source, const Policy& wanted) const {
  const std::vector<std::string> known = ledger_.HeldIds(source);
  std::vector<std::string_view> held(known.begin(), known.end());
  const auto last = plans_.find(source);
  const bool is_known = ledger_.reconciled(source) || last == plans_.end();
  if (!is_known) {
    for (const auto& [device, ids] : last->second.kept)
      held.insert(held.end(), ids.begin(), ids.end());
  }
  const Policy& policy = is_known ? wanted : last->second.policy;
  std::vector<std::string> kept;
  for (const DeviceKey& key : left_prepared_) {
    if (key.source == source) kept.push_back(key.id);
  }
  // A container that was bound to another device than that of its share has a part of it.
  if (policy.division != Division::kVgpu) {
    for (const BoundDevices& bound : ledger_.inbox()->bound()) {
      if (bound.resource == source) std::ranges::copy(bound.devices, std::back_inserter(kept));
    }
  }
  return tessera::PlanFor(policy, held, kept);
}

bool Node::SetPlan(const std::string& source, const Plan& plan) {
  const auto [last, first] = plans_.try_emplace(source, plan);
  if (!first && last->second == plan) return false;
  last->second = plan;
  ++facts_generation_;
  return true;
}

const Verdict& Node::VerdictOf(const DeviceKey& key) const {
  auto position = PositionOf(key);
  return position ? health_[*position].verdict : kUnverified;
}

bool Node::Verified(std::string_view source) const {
  return Every(source,
               [](const Device&, HealthState state) { return state != HealthState::kUnverified; });
}

bool Node::AllHealthy(std::string_view source) const {
  return Every(source, [](const Device& device, HealthState state) {
    return device.defect || state == HealthState::kHealthy;
  });
}

template <class Is>
bool Node::Every(std::string_view source, Is is) const {
  for (size_t i = 0; i < health_.size(); ++i) {
    const Device& device = inventory_->devices[i];
    if (device.key.source != source || !device.present) continue;
    if (!is(device, health_[i].verdict.state)) return false;
  }
  return true;
}

}  // namespace tessera
