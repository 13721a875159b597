// SPDX-License-Identifier: Apache-2.0
#include "hami/protocol/hami_protocol.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "hami/names.h"
#include "hami/pod_placement.h"
#include "kube/eviction.h"

namespace tessera {
namespace {

constexpr size_t kMessages = 8;       // of a container, that are said between two repeats
constexpr Duration kUnseen{600'000};  // how long the state of an unknown pod is kept
constexpr std::string_view kAwaited = "-devices-to-allocate";  // at the end of each vendor's key

constexpr char kRefused[] = "VirtualGpuRefused";
constexpr char kLess[] = "VirtualGpuSmaller";
constexpr char kIgnored[] = "VirtualGpuChangeIgnored";

// True if devices of another vendor are not yet granted: its plugin's list has devices left.
bool AwaitsOthers(const kube::Pod& pod, const hami::Vendor& vendor) {
  return std::ranges::any_of(pod.annotations, [&](const auto& annotation) {
    const std::string& key = annotation.first;
    return key != vendor.pod_to_allocate && key.starts_with(HamiProtocol::kKeys) &&
           key.ends_with(kAwaited) && annotation.second.find(',') != std::string::npos;
  });
}

std::string AllOf(const std::map<std::string, std::string>& fitted) {
  std::string all;
  for (const auto& [resource, text] : fitted) all += text;
  return all;
}

// True if `allocated` is all of `fitted`, the parts of some resources, or empty.
bool IsOf(const std::map<std::string, std::string>& fitted, std::string_view allocated) {
  for (const auto& [resource, text] : fitted) {
    if (allocated.starts_with(text)) allocated.remove_prefix(text.size());
  }
  return allocated.empty();
}

// {"UUID":"0-75"}, as AMD's plugin writes it.
std::string UnitsText(const std::map<std::string, UnitSet>& units) {
  json::Object object;
  for (const auto& [device, numbers] : units) object[device] = numbers.Text();
  return json::Write(object);
}

}  // namespace

HamiProtocol::BoundEntry HamiProtocol::BoundEntryOf(const BoundContainer& bound,
                                                    const hami::Vendor& vendor) {
  std::vector<hami::Entry> fitted;
  for (const PlacedContainer& one : bound.fitted)
    fitted.push_back(hami::EntryOf(one.parts, vendor));
  std::map<std::string, std::string> units;
  for (const Fraction& part : bound.parts) {
    if (!part.units.empty()) units.emplace(part.device, part.units);
  }
  return {.pod_uid = bound.pod_uid,
          .container = bound.container,
          .resource = bound.resource,
          .entry = hami::EntryOf(bound.parts, vendor),
          .less = bound.less,
          .fitted = fitted.empty() ? "" : hami::EncodePodDevices(fitted),
          .units = std::move(units)};
}

HamiProtocol::HamiProtocol(const hami::Vendor& vendor, os::Loop& loop, kube::Client& client,
                           std::string node, EmitEvents emit, Times times, const Clock& clock)
    : vendor_(vendor),
      loop_(loop),
      client_(client),
      node_(std::move(node)),
      emit_(std::move(emit)),
      times_(times),
      clock_(clock),
      lock_(loop, client, node_,
            {.bound_here = [this](const hami::LockOwner& owner) { return BoundHere(owner); },
             .needed = [this](const kube::Pod& pod) { return !Serves(pod) || NeedsLock(pod); },
             .fields = [this] { return Fields(); }},
            times.retries) {}

void HamiProtocol::Serve(std::set<std::string> resources, Awaits awaits) {
  resources_ = std::move(resources);
  awaits_ = std::move(awaits);
  for (const auto& [uid, state] : pods_) CheckLock(*state);
}

kube::PodFields HamiProtocol::Fields() const {
  return {.keys = {kKeys}, .resource = [this](std::string_view name) {
            return resources_.contains(std::string(name));
          }};
}

bool HamiProtocol::Serves(const kube::Pod& pod) const {
  const auto served = [&](const auto& asked) { return resources_.contains(asked.first); };
  return std::ranges::any_of(pod.containers, [&](const kube::Container& container) {
    return std::ranges::any_of(container.limits, served) ||
           std::ranges::any_of(container.requests, served);
  });
}

bool HamiProtocol::NeedsLock(const kube::Pod& pod) const {
  return AwaitsOthers(pod, vendor_) || (awaits_ && awaits_(pod));
}

const kube::Pod* HamiProtocol::BoundHere(const hami::LockOwner& owner) const {
  for (const auto& [uid, state] : pods_) {
    const kube::Pod& pod = state->pod();
    if (pod.node == node_ && pod.name == owner.pod && pod.pod_namespace == owner.pod_namespace) {
      return &pod;
    }
  }
  return nullptr;
}

HamiProtocol::PodStatePtr HamiProtocol::StateOf(const std::string& uid) {
  PodStatePtr& state = pods_[uid];
  if (state != nullptr) return state;
  state = std::make_shared<PodState>();
  state->retries = times_.retries;
  state->forgets = loop_.After(kUnseen, [this, uid] { pods_.erase(uid); });
  return state;
}

void HamiProtocol::PodChanged(const kube::PodPtr& pod) {
  if (!pods_.contains(pod->KubeletUid()) && !Serves(*pod)) return;
  const PodStatePtr state = StateOf(pod->KubeletUid());
  state->forgets = os::Loop::Handle();
  state->known = pod;
  if (!state->given.empty()) RecordAllocated(*state);
  LookForChange(*state);
  EmitQueued(*state);
  Evict(state);
  CheckLock(*state);
  if (state->due) WriteIn(state, times_.settle);
}

// Records the scheduler's allocation when the first container is bound. Fitted pods have none.
void HamiProtocol::RecordAllocated(PodState& state) {
  if (state.allocated || !state.seen()) return;
  state.allocated = std::string(state.pod().Annotation(vendor_.pod_allocated));
}

void HamiProtocol::LookForChange(PodState& state) {
  const std::string allocated(state.pod().Annotation(vendor_.pod_allocated));
  if (!state.allocated || *state.allocated == allocated) {
    state.stands = state.allocated.has_value();
    return;
  }
  // A fitted placement is not on the pod before our patch.
  if (!state.fitted.empty() && !state.stands && IsOf(state.fitted, allocated)) return;
  if (!state.changes.insert(allocated).second) return;
  EmitEvent(state, "", kIgnored,
            fmt::format("{} changed after the pod got its devices: its containers keep them. "
                        "Recreate the pod to get other devices",
                        vendor_.pod_allocated));
}

void HamiProtocol::PodGone(const kube::Pod& pod) {
  const auto gone = pods_.extract(pod.KubeletUid());
  if (gone && !gone.mapped()->unlocked) lock_.CheckLock();
}

// A pod in the phase "allocating" probably has the lock. The locks of other pods show in the node.
void HamiProtocol::CheckLock(PodState& state) {
  const kube::Pod& pod = state.pod();
  if (state.unlocked || !Serves(pod)) return;
  const bool allocating = pod.Annotation(hami::kPodBindPhase) == hami::kPhaseAllocating;
  if (!allocating || (NeedsLock(pod) && !pod.HasEnded())) return;
  state.unlocked = true;
  lock_.CheckLock();
}

void HamiProtocol::Claimed(const std::string& pod_uid) {
  const auto state = pods_.find(pod_uid);
  if (state != pods_.end()) CheckLock(*state->second);
}

void HamiProtocol::Bound(const BoundEntry& given) {
  const PodStatePtr state = StateOf(given.pod_uid);
  state->given[given.container] = given.entry;
  for (const auto& [device, units] : given.units) {
    state->units[device].Add(UnitSet::Parse(units).value_or(UnitSet()));
  }
  state->said.erase({given.container, kRefused});
  if (given.fitted.empty()) {
    RecordAllocated(*state);
  } else if (state->fitted.emplace(given.resource, given.fitted).second) {
    state->allocated = AllOf(state->fitted);
    state->stands = false;
  }
  if (!given.less.empty()) {
    EmitEvent(*state, given.container, kLess,
              fmt::format("container {} has {}, as HAMi's scheduler wrote it", given.container,
                          given.less));
  }
  WriteIn(state, times_.settle);
}

void HamiProtocol::Refused(const Refusal& refusal) {
  const PodStatePtr state = StateOf(refusal.pod_uid);
  EmitEvent(*state, refusal.container, kRefused,
            fmt::format("container {}: {}", refusal.container, refusal.error.Text()));
  if (!refusal.for_good) return;
  state->failed = true;
  WriteIn(state, times_.settle);
  state->evict = refusal.evict;
  Evict(state);
}

// A failed eviction is repeated after kubelet's next retry.
void HamiProtocol::Evict(const PodStatePtr& state) {
  const kube::Pod& pod = state->pod();
  if (!state->evict || !state->seen() || state->evicting || pod.deleting) return;
  state->evict = false;
  state->evicting = true;
  client_.Create(kube::EvictionPath(pod), kube::EvictionOf(pod),
                 [weak = Weak(state), name = pod.FullName()](const Status& made) {
                   if (const PodStatePtr evicted = weak.lock()) evicted->evicting = false;
                   if (made) return log::Info("evicted a pod", {{"pod", name}});
                   log::Warn("cannot evict a pod", made.error(), {{"pod", name}});
                 });
}

void HamiProtocol::WriteIn(const PodStatePtr& state, Duration pause) {
  state->due = true;
  if (state->busy || state->next) return;
  state->next = loop_.After(pause, [this, weak = Weak(state)] {
    const PodStatePtr pod = weak.lock();
    pod->next = os::Loop::Handle();
    Write(pod);
  });
}

void HamiProtocol::Write(const PodStatePtr& state) {
  if (!state->seen()) return;  // PodChanged writes once it is seen
  state->due = false;
  const kube::MetadataPatch patch = PatchFor(*state);
  if (patch.empty()) return;
  state->busy = true;
  client_.Patch(kube::PatchType::kMerge,
                kube::PodPath(state->pod().pod_namespace, state->pod().name), patch.Json(),
                kube::PodForm(Fields()),
                [this, weak = Weak(state)](const Result<json::Value>& written) {
                  if (const PodStatePtr pod = weak.lock()) PatchEnded(pod, written);
                });
}

// Empty if there is nothing to write. Pods without HAMi's annotations are not HAMi's.
kube::MetadataPatch HamiProtocol::PatchFor(const PodState& state) const {
  const kube::Pod& pod = state.pod();
  kube::MetadataPatch patch;
  patch.uid = pod.uid;
  patch.resource_version = pod.resource_version;
  const std::string_view phase = pod.Annotation(hami::kPodBindPhase);
  if (phase == hami::kPhaseSuccess && state.failed) return {};
  const std::string_view stands = pod.Annotation(vendor_.pod_allocated);
  const std::string fitted = AllOf(state.fitted);
  if (stands.empty() && fitted.empty()) return {};
  if (stands != fitted && IsOf(state.fitted, stands)) {
    patch.annotations[std::string(vendor_.pod_allocated)] = fitted;
    patch.annotations[std::string(hami::kPodNode)] = node_;
    patch.labels[std::string(hami::kPodNode)] = node_;
    return patch;
  }
  const auto set = [&](std::string_view key, std::string_view value) {
    if (pod.Annotation(key) != value) patch.annotations[std::string(key)] = std::string(value);
  };
  if (state.failed) {
    set(hami::kPodBindPhase, hami::kPhaseFailed);
    return patch;
  }
  std::vector<hami::Entry> given;
  given.reserve(state.given.size());
  for (const auto& [container, entry] : state.given) given.push_back(entry);
  const std::string_view before = pod.Annotation(vendor_.pod_to_allocate);
  // The agent fitted the pod, or a scheduler placed it for the agent. Then there is no list of
  // devices to grant.
  if (phase.empty() && before.empty()) return {};
  const std::string allocated = state.allocated.value_or("");
  const auto after = hami::ConsumeGiven(before, allocated, given);
  if (!after) {
    log::Warn("cannot remove a pod's devices from its list of devices to grant", after.error(),
              {{"pod", pod.FullName()}});
    return {};
  }
  const size_t all = hami::EntriesLeft(allocated).value_or(0);
  const bool begun = hami::EntriesLeft(before).value_or(0) < all;
  const bool done = hami::EntriesLeft(*after).value_or(0) == 0;
  if (begun && !done) return {};
  set(vendor_.pod_to_allocate, *after);
  if (!done) return patch;
  set(hami::kPodBindPhase, hami::kPhaseSuccess);
  if (!state.units.empty()) set(hami::kPodCuAllocated, UnitsText(state.units));
  return patch;
}

void HamiProtocol::PatchEnded(const PodStatePtr& state, const Result<json::Value>& written) {
  state->busy = false;
  if (written) {
    state->retries.Succeeded();
    if (auto pod = kube::ReadPod(*written, Fields()))
      state->known = std::make_shared<const kube::Pod>(*std::move(pod));
    if (state->due) WriteIn(state, times_.settle);
    return;
  }
  const Reason reason = written.error().reason;
  if (reason == Reason::kApiConflict) return ReadAnew(state);
  if (reason == Reason::kNotFound) return;  // it is gone; PodGone follows
  if (state->retries.pause() == Duration(0) || reason == Reason::kApiRejected) {
    log::Warn("cannot write a pod's allocation state", written.error(),
              {{"pod", state->pod().FullName()}, {"uid", state->pod().KubeletUid()}});
  }
  if (reason != Reason::kApiRejected) WriteIn(state, client_.NextPause(state->retries));
}

void HamiProtocol::ReadAnew(const PodStatePtr& state) {
  state->busy = true;
  client_.Get(kube::PodPath(state->pod().pod_namespace, state->pod().name), kube::PodForm(Fields()),
              [this, weak = Weak(state)](const Result<json::Value>& found) {
                const PodStatePtr pod = weak.lock();
                if (pod != nullptr) PodRead(pod, found);
              });
}

void HamiProtocol::PodRead(const PodStatePtr& state, const Result<json::Value>& found) {
  if (!found) return PatchEnded(state, found);
  state->busy = false;
  auto pod = kube::ReadPod(*found, Fields());
  if (!pod || pod->uid != state->pod().uid) return;  // another pod of the same name
  state->known = std::make_shared<const kube::Pod>(*std::move(pod));
  Write(state);
}

void HamiProtocol::EmitEvent(PodState& state, const std::string& container, const char* reason,
                             std::string message) {
  SentEvents& said = state.said[{container, reason}];
  const Steady now = clock_.Now();
  if (said.messages.empty() || now - said.since >= times_.repeat)
    said = {.messages = {}, .since = now};
  if (said.messages.size() >= kMessages || !said.messages.insert(message).second) return;
  kube::Reference about;
  about.kind = "Pod";
  about.container = container;
  state.untold.push_back({.about = std::move(about),
                          .warning = true,
                          .reason = reason,
                          .message = message,
                          .when = clock_.WallNow(),
                          .subject = message});
  EmitQueued(state);
}

void HamiProtocol::EmitQueued(PodState& state) {
  if (!state.seen() || state.untold.empty()) return;
  for (kube::Event& event : state.untold) {
    event.about.pod_namespace = state.pod().pod_namespace;
    event.about.name = state.pod().name;
    event.about.uid = state.pod().uid;
  }
  std::vector<kube::Event> events = std::exchange(state.untold, {});
  if (emit_) emit_(std::move(events));
}

}  // namespace tessera
