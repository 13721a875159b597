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
constexpr Duration kUnseen{600'000};  // what is told of a pod that nobody knows is kept so long
constexpr std::string_view kAwaited = "-devices-to-allocate";  // at the end of each vendor's key

constexpr char kRefused[] = "VirtualGpuRefused";
constexpr char kLess[] = "VirtualGpuSmaller";
constexpr char kIgnored[] = "VirtualGpuChangeIgnored";

// Once the devices of another vendor's are handed out, it has none there any more.
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

// Whether that is what was fitted, or what was of some of the resources, or nothing.
bool IsOf(const std::map<std::string, std::string>& fitted, std::string_view allocated) {
  for (const auto& [resource, text] : fitted) {
    if (allocated.starts_with(text)) allocated.remove_prefix(text.size());
  }
  return allocated.empty();
}

}  // namespace

HamiProtocol::Given HamiProtocol::GivenOf(const BoundContainer& bound, const hami::Vendor& vendor) {
  std::vector<hami::Entry> fitted;
  for (const PlacedContainer& one : bound.fitted)
    fitted.push_back(hami::EntryOf(one.parts, vendor));
  return {.pod_uid = bound.pod_uid,
          .container = bound.container,
          .resource = bound.resource,
          .entry = hami::EntryOf(bound.parts, vendor),
          .less = bound.less,
          .fitted = fitted.empty() ? "" : hami::EncodePodDevices(fitted)};
}

HamiProtocol::HamiProtocol(const hami::Vendor& vendor, os::Loop& loop, kube::Client& client,
                           std::string node, Tell tell, Times times, const Clock& clock)
    : vendor_(vendor),
      loop_(loop),
      client_(client),
      node_(std::move(node)),
      tell_(std::move(tell)),
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
  for (const auto& [uid, kept] : pods_) SeeToLock(*kept);
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
  for (const auto& [uid, kept] : pods_) {
    const kube::Pod& pod = kept->pod();
    if (pod.node == node_ && pod.name == owner.pod && pod.pod_namespace == owner.pod_namespace) {
      return &pod;
    }
  }
  return nullptr;
}

HamiProtocol::KeptPtr HamiProtocol::KeptOf(const std::string& uid) {
  KeptPtr& kept = pods_[uid];
  if (kept != nullptr) return kept;
  kept = std::make_shared<Kept>();
  kept->retries = times_.retries;
  kept->forgets = loop_.After(kUnseen, [this, uid] { pods_.erase(uid); });
  return kept;
}

void HamiProtocol::PodChanged(const kube::PodPtr& pod) {
  if (!pods_.contains(pod->KubeletUid()) && !Serves(*pod)) return;
  const KeptPtr kept = KeptOf(pod->KubeletUid());
  kept->forgets = os::Loop::Handle();
  kept->known = pod;
  if (!kept->given.empty()) Settle(*kept);
  LookForChange(*kept);
  TellOf(*kept);
  Evict(kept);
  SeeToLock(*kept);
  if (kept->due) WriteIn(kept, times_.settle);
}

// What its containers were given is what stands on the pod, unless it was fitted.
void HamiProtocol::Settle(Kept& kept) {
  if (kept.allocated || !kept.seen()) return;
  kept.allocated = std::string(kept.pod().Annotation(vendor_.pod_allocated));
}

void HamiProtocol::LookForChange(Kept& kept) {
  const std::string allocated(kept.pod().Annotation(vendor_.pod_allocated));
  if (!kept.allocated || *kept.allocated == allocated) {
    kept.stands = kept.allocated.has_value();
    return;
  }
  // What was fitted here stands nowhere before it is written.
  if (!kept.fitted.empty() && !kept.stands && IsOf(kept.fitted, allocated)) return;
  if (!kept.changes.insert(allocated).second) return;
  Say(kept, "", kIgnored,
      fmt::format("{} is another than when the pod got its devices: that changes nothing, its "
                  "containers keep what they have. Make the pod anew for other devices",
                  vendor_.pod_allocated));
}

void HamiProtocol::PodGone(const kube::Pod& pod) {
  const auto gone = pods_.extract(pod.KubeletUid());
  if (gone && !gone.mapped()->unlocked) lock_.Look();
}

// The lock of a pod that has just come is most probably there; that of others shows in the node.
void HamiProtocol::SeeToLock(Kept& kept) {
  const kube::Pod& pod = kept.pod();
  if (kept.unlocked || !Serves(pod)) return;
  const bool allocating = pod.Annotation(hami::kPodBindPhase) == hami::kPhaseAllocating;
  if (!allocating || (NeedsLock(pod) && !pod.HasEnded())) return;
  kept.unlocked = true;
  lock_.Look();
}

void HamiProtocol::Claimed(const std::string& pod_uid) {
  const auto kept = pods_.find(pod_uid);
  if (kept != pods_.end()) SeeToLock(*kept->second);
}

void HamiProtocol::Bound(const Given& given) {
  const KeptPtr kept = KeptOf(given.pod_uid);
  kept->given[given.container] = given.entry;
  kept->said.erase({given.container, kRefused});
  if (given.fitted.empty()) {
    Settle(*kept);
  } else if (kept->fitted.emplace(given.resource, given.fitted).second) {
    kept->allocated = AllOf(kept->fitted);
    kept->stands = false;
  }
  if (!given.less.empty()) {
    Say(*kept, given.container, kLess,
        fmt::format("container {} has {}, as HAMi's scheduler wrote it", given.container,
                    given.less));
  }
  WriteIn(kept, times_.settle);
}

void HamiProtocol::Refused(const Refusal& refusal) {
  const KeptPtr kept = KeptOf(refusal.pod_uid);
  Say(*kept, refusal.container, kRefused,
      fmt::format("container {}: {}", refusal.container, refusal.error.Text()));
  if (!refusal.for_good) return;
  kept->failed = true;
  WriteIn(kept, times_.settle);
  kept->evict = refusal.evict;
  Evict(kept);
}

// One that comes to nothing is asked for again by kubelet's next try.
void HamiProtocol::Evict(const KeptPtr& kept) {
  const kube::Pod& pod = kept->pod();
  if (!kept->evict || !kept->seen() || kept->evicting || pod.deleting) return;
  kept->evict = false;
  kept->evicting = true;
  client_.Create(kube::EvictionPath(pod), kube::EvictionOf(pod),
                 [weak = Weak(kept), name = pod.FullName()](const Status& made) {
                   if (const KeptPtr evicted = weak.lock()) evicted->evicting = false;
                   if (made) return log::Info("evicted a pod", {{"pod", name}});
                   log::Warn("cannot evict a pod", made.error(), {{"pod", name}});
                 });
}

void HamiProtocol::WriteIn(const KeptPtr& kept, Duration pause) {
  kept->due = true;
  if (kept->busy || kept->next) return;
  kept->next = loop_.After(pause, [this, weak = Weak(kept)] {
    const KeptPtr pod = weak.lock();
    pod->next = os::Loop::Handle();
    Write(pod);
  });
}

void HamiProtocol::Write(const KeptPtr& kept) {
  if (!kept->seen()) return;  // it is due when it comes
  kept->due = false;
  const kube::MetadataPatch patch = PatchFor(*kept);
  if (patch.empty()) return;
  kept->busy = true;
  client_.Patch(kube::PatchType::kMerge, kube::PodPath(kept->pod().pod_namespace, kept->pod().name),
                patch.Json(), kube::PodForm(Fields()),
                [this, weak = Weak(kept)](const Result<json::Value>& written) {
                  if (const KeptPtr pod = weak.lock()) Written(pod, written);
                });
}

// Nothing to be written: without annotations, for no pod of HAMi's is without.
kube::MetadataPatch HamiProtocol::PatchFor(const Kept& kept) const {
  const kube::Pod& pod = kept.pod();
  kube::MetadataPatch patch;
  patch.uid = pod.uid;
  patch.resource_version = pod.resource_version;
  const std::string_view phase = pod.Annotation(hami::kPodBindPhase);
  if (phase == hami::kPhaseSuccess && kept.failed) return {};
  const std::string_view stands = pod.Annotation(vendor_.pod_allocated);
  const std::string fitted = AllOf(kept.fitted);
  if (stands.empty() && fitted.empty()) return {};
  if (stands != fitted && IsOf(kept.fitted, stands)) {
    patch.annotations[std::string(vendor_.pod_allocated)] = fitted;
    patch.annotations[std::string(hami::kPodNode)] = node_;
    patch.labels[std::string(hami::kPodNode)] = node_;
    return patch;
  }
  const auto set = [&](std::string_view key, std::string_view value) {
    if (pod.Annotation(key) != value) patch.annotations[std::string(key)] = std::string(value);
  };
  if (kept.failed) {
    set(hami::kPodBindPhase, hami::kPhaseFailed);
    return patch;
  }
  std::vector<hami::Entry> given;
  given.reserve(kept.given.size());
  for (const auto& [container, entry] : kept.given) given.push_back(entry);
  const std::string_view before = pod.Annotation(vendor_.pod_to_allocate);
  if (phase.empty() && before.empty()) return {};  // it was fitted here: nobody hands out of it
  const std::string allocated = kept.allocated.value_or("");
  const auto after = hami::ConsumeGiven(before, allocated, given);
  if (!after) {
    log::Warn("what a pod was given is not taken from what is to be handed out", after.error(),
              {{"pod", pod.FullName()}});
    return {};
  }
  const size_t all = hami::EntriesLeft(allocated).value_or(0);
  const bool begun = hami::EntriesLeft(before).value_or(0) < all;
  const bool done = hami::EntriesLeft(*after).value_or(0) == 0;
  if (begun && !done) return {};
  set(vendor_.pod_to_allocate, *after);
  if (done) set(hami::kPodBindPhase, hami::kPhaseSuccess);
  return patch;
}

void HamiProtocol::Written(const KeptPtr& kept, const Result<json::Value>& written) {
  kept->busy = false;
  if (written) {
    kept->retries.Succeeded();
    if (auto pod = kube::ReadPod(*written, Fields()))
      kept->known = std::make_shared<const kube::Pod>(*std::move(pod));
    if (kept->due) WriteIn(kept, times_.settle);
    return;
  }
  const Reason reason = written.error().reason;
  if (reason == Reason::kApiConflict) return ReadAnew(kept);
  if (reason == Reason::kNotFound) return;  // it is gone, which will be told
  if (kept->retries.pause() == Duration(0) || reason == Reason::kApiRejected) {
    log::Warn("cannot write what became of a pod", written.error(),
              {{"pod", kept->pod().FullName()}, {"uid", kept->pod().KubeletUid()}});
  }
  if (reason != Reason::kApiRejected) WriteIn(kept, client_.NextPause(kept->retries));
}

void HamiProtocol::ReadAnew(const KeptPtr& kept) {
  kept->busy = true;
  client_.Get(kube::PodPath(kept->pod().pod_namespace, kept->pod().name), kube::PodForm(Fields()),
              [this, weak = Weak(kept)](const Result<json::Value>& found) {
                const KeptPtr pod = weak.lock();
                if (pod != nullptr) Found(pod, found);
              });
}

void HamiProtocol::Found(const KeptPtr& kept, const Result<json::Value>& found) {
  if (!found) return Written(kept, found);
  kept->busy = false;
  auto pod = kube::ReadPod(*found, Fields());
  if (!pod || pod->uid != kept->pod().uid) return;  // another of its name
  kept->known = std::make_shared<const kube::Pod>(*std::move(pod));
  Write(kept);
}

void HamiProtocol::Say(Kept& kept, const std::string& container, const char* reason,
                       std::string message) {
  Said& said = kept.said[{container, reason}];
  const Steady now = clock_.Now();
  if (said.messages.empty() || now - said.since >= times_.repeat)
    said = {.messages = {}, .since = now};
  if (said.messages.size() >= kMessages || !said.messages.insert(message).second) return;
  kube::Reference about;
  about.kind = "Pod";
  about.container = container;
  kept.untold.push_back({.about = std::move(about),
                         .warning = true,
                         .reason = reason,
                         .message = message,
                         .when = clock_.WallNow(),
                         .subject = message});
  TellOf(kept);
}

void HamiProtocol::TellOf(Kept& kept) {
  if (!kept.seen() || kept.untold.empty()) return;
  for (kube::Event& event : kept.untold) {
    event.about.pod_namespace = kept.pod().pod_namespace;
    event.about.name = kept.pod().name;
    event.about.uid = kept.pod().uid;
  }
  std::vector<kube::Event> events = std::exchange(kept.untold, {});
  if (tell_) tell_(std::move(events));
}

}  // namespace tessera
