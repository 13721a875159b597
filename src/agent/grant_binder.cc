// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_binder.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/cdi_file.h"
#include "agent/grant_files.h"
#include "backend/node_facts.h"
#include "base/characters.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"

namespace tessera::agent {
namespace {

// kubelet writes its checkpoint anew when it begins: what is missing for a moment is not gone.
constexpr Duration kForgotten{60'000};

// kubelet tries again more often than that.
constexpr Duration kLately{60'000};

std::string Annotation(const Grant& grant, const char* key) {
  const auto found = grant.annotations.find(key);
  return found == grant.annotations.end() ? "" : found->second;
}

bool SameIds(const kubelet::CheckpointEntry& entry, std::vector<std::string> ids) {
  std::vector<std::string> held = entry.ids();
  std::ranges::sort(held);
  std::ranges::sort(ids);
  return held == ids;
}

// Whether the directory is one that was made for the grant's container alone.
bool IsOwnDirectory(const Pin& pin, const std::string& name) {
  const bool by_pod = !pin.decision.empty() && !pin.container.empty();
  return pin.directory.ends_with(by_pod ? "_" + pin.container : "/" + name);
}

// A name in a directory, that leads nowhere else.
bool IsFileName(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name.find('/') == std::string_view::npos;
}

// The devices of a part are here, and well.
Status CheckDevices(const Offer& offer, std::span<const VgpuPart> parts) {
  for (const VgpuPart& part : parts) {
    const auto device = offer.PositionOf(part.device);
    if (!device) {
      return Fail(Reason::kVanished, "{}: device {} is not there", offer.resource, part.device);
    }
    TRY(CheckHealthy(offer, *device));
  }
  return {};
}

}  // namespace

// Read once for all that kubelet has admitted by then: of many containers at once each would read
// it.
Result<const std::vector<GrantBinder::Held>*> GrantBinder::ReadCheckpoint() {
  const os::FileInfo file = TRY(os::InspectTarget(checkpoint_));
  if (file == read_) return &held_;
  const std::string text = TRY(os::ReadFile(checkpoint_));
  kubelet::Checkpoint checkpoint = TRY(kubelet::ParseCheckpoint(text));
  held_.clear();
  for (kubelet::CheckpointEntry& entry : checkpoint.entries) {
    const Grant grant = entry.grant();
    const std::string parts = Annotation(grant, kPartsAnnotation);
    held_.push_back({std::move(entry), Annotation(grant, kGrantAnnotation), ReadParts(parts),
                     parts == kPartsAsked});
  }
  read_ = file;
  return &held_;
}

Result<std::vector<const GrantBinder::Held*>> GrantBinder::HeldWith(
    const Binding& binding, const std::vector<std::string>& ids) {
  const auto all = ReadCheckpoint();
  if (!all) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not say which container this is: {}",
                binding.offer.resource, all.error().message);
  }
  std::vector<const Held*> found;
  for (const Held& held : **all) {
    if (held.entry.resource == binding.offer.resource && SameIds(held.entry, ids)) {
      found.push_back(&held);
    }
  }
  if (!found.empty()) return found;
  return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}",
              binding.offer.resource, Join(ids, ","));
}

Result<std::string> GrantBinder::PodToKnow(const Binding& binding,
                                           const std::vector<std::string>& ids, const Pods& pods) {
  if (!binding.rendering.vgpu->requests) return "";
  std::lock_guard lock(binding_);
  for (const Held* held : TRY(HeldWith(binding, ids))) {
    const std::string& uid = held->entry.pod_uid;
    const bool by_request = IsGrantName(held->name) && !held->parts;
    if (!by_request || pods.contains(uid)) continue;
    const auto pin = pins_.Find(held->name);
    if (pin && !*pin) return uid;
  }
  return "";
}

Status GrantBinder::Bind(const Binding& binding, const std::vector<std::string>& ids,
                         const Pods& pods) {
  std::lock_guard lock(binding_);
  std::vector<const Held*> all = TRY(HeldWith(binding, ids));
  std::optional<os::FileLock> alone;
  if (std::ranges::any_of(all, [&](const Held* held) { return IsNew(*held); })) {
    alone.emplace(TRY(pins_.Lock()));
    // Another instance may have granted what kubelet has written since.
    all = TRY(HeldWith(binding, ids));
  }
  for (const Held* held : all) {
    if (held->name.empty()) continue;
    Status bound = BindOne(binding, *held, pods);
    if (bound) continue;
    const kubelet::CheckpointEntry& entry = held->entry;
    if (binding.rendering.vgpu->requests) {
      book_->Refused({.pod_uid = entry.pod_uid,
                      .container = entry.container,
                      .error = bound.error(),
                      .for_good = bound.error().reason == Reason::kBadDecision});
    }
    return bound;
  }
  return {};
}

bool GrantBinder::IsNew(const Held& held) {
  if (!IsGrantName(held.name)) return false;
  const auto pin = pins_.Find(held.name);
  return pin && !*pin;
}

Status GrantBinder::BindOne(const Binding& binding, const Held& held, const Pods& pods) {
  if (!IsGrantName(held.name)) {
    return Fail(Reason::kGrantUnknown, "{}: kubelet's checkpoint has a grant named {}",
                held.entry.resource, Brief(held.name));
  }
  TRY(CheckAlone(held));
  const Pin pin = TRY(PinFor(binding, held, pods));
  TRY(MakeGrantFiles(root_, *binding.rendering.vgpu, pin));
  if (!WritesCdi(binding.rendering)) return {};
  return WriteDocument(binding, pin, held.name);
}

// The limits of GPUs go by the container's own count of them, and each document begins at its
// first.
Status GrantBinder::CheckAlone(const Held& mine) const {
  const kubelet::CheckpointEntry& entry = mine.entry;
  for (const Held& held : held_) {
    const bool same = held.entry.pod_uid == entry.pod_uid &&
                      held.entry.container == entry.container &&
                      held.entry.resource != entry.resource;
    if (!same || held.name.empty()) continue;
    return Fail(Reason::kNotEnforced,
                "container {} of pod {} has virtual GPUs of {} and of {}, and can be held to those "
                "of one resource alone",
                entry.container, entry.pod_uid, std::min(entry.resource, held.entry.resource),
                std::max(entry.resource, held.entry.resource));
  }
  return {};
}

Result<Pin> GrantBinder::PinFor(const Binding& binding, const Held& held, const Pods& pods) {
  const kubelet::CheckpointEntry& entry = held.entry;
  if (const auto pin = TRY(pins_.Find(held.name))) {
    const bool same = pin->resource == entry.resource && pin->pod_uid == entry.pod_uid &&
                      pin->container == entry.container;
    if (same) return StartedAgain(binding, held, *pin);
    return Fail(Reason::kGrantUnknown,
                "grant {} is bound to container {} of pod {}, not to {} of {}", held.name,
                pin->container, pin->pod_uid, entry.container, entry.pod_uid);
  }
  // What Allocate promised holds, whatever the configuration says by now.
  const bool by_request = binding.rendering.vgpu->requests.has_value() && !held.parts;
  if (held.asked && !by_request) {
    return Fail(Reason::kNotPlaced,
                "{}: container {} of pod {} was promised what its pod asks for, and by now the "
                "configuration makes equal parts: delete the pod",
                entry.resource, entry.container, entry.pod_uid);
  }
  Pin pin = TRY(by_request ? PinOfRequest(binding, held, pods) : PinOfShares(binding, held));
  pin.library = binding.rendering.vgpu->library;
  TRY(pins_.Add(held.name, pin));
  log::Info("a grant is bound", {{"resource", entry.resource},
                                 {"grant", held.name},
                                 {"pod", entry.pod_uid},
                                 {"container", entry.container},
                                 {"parts", PartsText(pin.parts)}});
  Note(pin);
  if (by_request) Tell(binding, *pods.at(entry.pod_uid), pin);
  return pin;
}

// Of what kubelet's shares do not tell.
void GrantBinder::Note(const Pin& pin) const {
  if (pin.decision.empty()) return;
  std::vector<std::string> devices;
  for (const VgpuPart& part : pin.parts) devices.push_back(part.device);
  inbox_->PutBound({.pod_uid = pin.pod_uid,
                    .container = pin.container,
                    .resource = pin.resource,
                    .devices = std::move(devices),
                    .since = clock_.Now()});
}

void GrantBinder::TellLedger() {
  const auto grants = pins_.Grants();
  if (!grants) return;
  for (const std::string& grant : *grants) {
    const auto pin = pins_.Find(grant);
    if (pin && *pin) Note(**pin);
  }
}

// One that counts as ended, and whose room others may have, needs it anew: the init container of a
// pod whose sandbox is made again, a static pod.
Result<Pin> GrantBinder::StartedAgain(const Binding& binding, const Held& held, const Pin& pin) {
  const PodPtr pod = pin.decision.empty() ? nullptr : book_->Find(pin.pod_uid);
  if (pod == nullptr || !HasEnded(*pod, pin.container)) return pin;
  TRY(CheckRoom(binding, held, UsageOf(pin.decision, nullptr)));
  outdated_[pin.pod_uid] = pod;
  return pin;
}

void GrantBinder::Tell(const Binding& binding, const kube::Pod& pod, const Pin& pin) const {
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const auto own = std::ranges::find(pin.decision, pin.container, &DecidedContainer::name);
  std::vector<hami::Entry> all;
  for (const DecidedContainer& one : pin.decision) all.push_back(EntryOf(one.parts));
  book_->Bound({.pod_uid = pin.pod_uid,
                .container = pin.container,
                .entry = EntryOf(own->parts),
                .less = LessThanAsked(pod, RulesOf(pin.resource, *vgpu.requests),
                                      CardsOf(binding.offer, vgpu), *own),
                .fitted = IsPlaced(pod) ? "" : hami::EncodePodDevices(all)});
}

Result<Pin> GrantBinder::PinOfShares(const Binding& binding, const Held& held) {
  const kubelet::CheckpointEntry& entry = held.entry;
  VgpuGrant grant = NewVgpuGrant(*binding.rendering.vgpu, held.name, TRY(PartsOf(binding, held)));
  TRY(CheckRoom(binding, held, UsageOf(grant.parts)));
  return Pin{.resource = entry.resource,
             .pod_uid = entry.pod_uid,
             .container = entry.container,
             .directory = std::move(grant.directory),
             .parts = std::move(grant.parts)};
}

// What Allocate said, whatever the configuration says by now; on devices that are well.
Result<std::vector<VgpuPart>> GrantBinder::PartsOf(const Binding& binding, const Held& held) {
  const std::vector<std::string> ids = held.entry.ids();
  if (!held.parts) return VgpuParts(binding.offer, *binding.rendering.vgpu, ids);
  for (const std::string& id : ids) {
    const Share* share = binding.offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kUnknownShare, "{}: {} is none of the virtual GPUs of this node",
                  binding.offer.resource, id);
    }
    TRY(CheckHealthy(binding.offer, share->device));
  }
  return *held.parts;
}

// The pod counts as a whole from its first container on, so that nobody takes what the others of it
// were promised.
Result<Pin> GrantBinder::PinOfRequest(const Binding& binding, const Held& held, const Pods& pods) {
  const kubelet::CheckpointEntry& entry = held.entry;
  const auto found = pods.find(entry.pod_uid);
  if (found == pods.end() || found->second->KubeletUid() != entry.pod_uid) {
    return Fail(Reason::kGrantUnknown, "{}: pod {} is not known", entry.resource, entry.pod_uid);
  }
  const kube::Pod& pod = *found->second;
  if (!IsFileName(pod.uid) || !IsFileName(entry.container)) {
    return Fail(Reason::kGrantUnknown, "{}: container {} of pod {} has no name for a directory",
                entry.resource, Brief(entry.container), Brief(pod.uid));
  }
  Decision decision = TRY(FormerDecision(entry));
  if (decision.empty()) {
    decision = TRY(Decide(binding, pod));
    // All of it, whatever is said to have ended: nothing of it has begun.
    TRY(CheckRoom(binding, held, UsageOf(decision, nullptr)));
  }
  const auto own = std::ranges::find(decision, entry.container, &DecidedContainer::name);
  if (own == decision.end()) {
    return Fail(Reason::kBadDecision, "pod {}/{}: nothing was chosen for container {}",
                pod.pod_namespace, pod.name, entry.container);
  }
  TRY(CheckDevices(binding.offer, own->parts));
  const Vgpu& vgpu = *binding.rendering.vgpu;
  std::vector<VgpuPart> parts = own->parts;
  return Pin{
      .resource = entry.resource,
      .pod_uid = entry.pod_uid,
      .container = entry.container,
      .directory = fmt::format("{}/{}_{}", FilesOf(vgpu).containers, pod.uid, entry.container),
      .parts = std::move(parts),
      .controlled = !vgpu.may_disable_control || !WantsNoControl(pod, entry.container),
      .decision = std::move(decision)};
}

Result<Decision> GrantBinder::Decide(const Binding& binding, const kube::Pod& pod) {
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const hami::RequestRules rules = RulesOf(binding.offer.resource, *vgpu.requests);
  const std::vector<hami::RegisteredDevice> cards = CardsOf(binding.offer, vgpu);
  if (IsPlaced(pod) || !vgpu.requests->fit_unplaced) return ReadDecision(pod, rules, cards);
  SharesByContainer shares;
  for (const Held& held : held_) {
    const bool its =
        held.entry.pod_uid == pod.KubeletUid() && held.entry.resource == binding.offer.resource;
    if (its) shares[held.entry.container] = held.entry.ids();
  }
  return FitDecision(pod, rules, cards, shares);
}

// By a record that cannot be read it may be another than by what stands on the pod now.
Result<Decision> GrantBinder::FormerDecision(const kubelet::CheckpointEntry& entry) {
  for (const Held& held : held_) {
    const bool its = held.entry.pod_uid == entry.pod_uid && held.entry.resource == entry.resource;
    if (!its || !IsGrantName(held.name)) continue;
    const std::optional<Pin> pin = TRY(pins_.Find(held.name));
    if (pin && !pin->decision.empty()) return pin->decision;
  }
  return Decision();
}

// What the others have of each device: as it was decided for their pods as a whole, or share by
// share.
UsageByDevice GrantBinder::TakenBeside(const Binding& binding, const Held& mine) {
  Taken taken;
  using OfPod = std::pair<std::string, std::string>;  // by its UID and the resource
  const OfPod own{mine.entry.pod_uid, mine.entry.resource};
  const bool decided = !IsNew(mine);  // then its pod is counted as a whole in what more is wanted
  std::set<OfPod> whole;              // that count by a decision
  for (const Held& held : held_) {
    OfPod of{held.entry.pod_uid, held.entry.resource};
    if (held.name == mine.name || whole.contains(of)) continue;
    const auto pin = IsGrantName(held.name) ? pins_.Find(held.name) : std::optional<Pin>();
    if (pin && *pin && (*pin)->decision.empty()) {
      taken.AddShares(of.first, held.entry.ids(), (*pin)->parts);
    } else if (pin && *pin && !(decided && of == own)) {
      taken.Add(UsageOf((*pin)->decision, StateOf(of.first).get()));
      whole.insert(std::move(of));
    } else if (held.name.empty() && held.entry.resource == binding.offer.resource) {
      taken.Add(TakenByForeign(binding, of.first));
      whole.insert(std::move(of));
    }  // else it is not bound yet: its turn to be checked comes
  }
  for (const std::string& id : mine.entry.ids()) taken.RemoveShare(mine.entry.pod_uid, id);
  return taken.Sum();
}

// Null where what was last said of the pod is known to be wrong.
PodPtr GrantBinder::StateOf(const std::string& uid) {
  PodPtr pod = book_->Find(uid);
  const auto outdated = outdated_.find(uid);
  if (outdated == outdated_.end()) return pod;
  if (outdated->second == pod) return nullptr;
  outdated_.erase(outdated);
  return pod;
}

// Of a pod whose containers another plugin has served: by what the scheduler wrote.
UsageByDevice GrantBinder::TakenByForeign(const Binding& binding, const std::string& uid) const {
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const PodPtr pod = book_->Find(uid);
  if (!vgpu.requests || pod == nullptr) return {};
  const auto decision = ReadDecision(*pod, RulesOf(binding.offer.resource, *vgpu.requests),
                                     CardsOf(binding.offer, vgpu));
  return decision ? UsageOf(*decision, pod.get()) : UsageByDevice();
}

// Parts of equal sizes always fit. Where the configuration has changed under running pods, or says
// more than a device has, they may not.
Status GrantBinder::CheckRoom(const Binding& binding, const Held& mine, const UsageByDevice& more) {
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const Status room = agent::CheckRoom(binding.offer.resource, CardsOf(binding.offer, vgpu),
                                       TakenBeside(binding, mine), more, vgpu.requests.has_value());
  if (!room) no_room_until_ = (clock_.Now() + kLately).time_since_epoch().count();
  return room;
}

Status GrantBinder::WriteDocument(const Binding& binding, const Pin& pin,
                                  const std::string& name) const {
  const std::string path = binding.cdi_dir + "/" + GrantFileName(name);
  if (binding.described == nullptr) {
    // The one that was written before is whole.
    const auto on_disk = os::ReadFile(path);
    if (on_disk && IsCdiDocumentOf(GrantCdiKind(binding.rendering), *on_disk)) return {};
    return Fail(Reason::kNotChecked,
                "{}: what containers need of the driver has not been found yet since the agent "
                "began: kubelet tries again by itself",
                binding.offer.resource);
  }
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const VgpuGrant grant{.name = name,
                        .directory = pin.directory,
                        .parts = pin.parts,
                        .controlled = pin.controlled,
                        .licensed = IsLicensed(root_, vgpu),
                        .library = LibraryOf(root_, vgpu, pin)};
  cdi::Document document =
      TRY(VgpuDocument(binding.offer, binding.rendering, grant, binding.described));
  for (cdi::Node& node : document.devices.front().edits.nodes) {
    if (node.type.empty()) DescribeNode(root_.prefix(), node);
  }
  return PutCdiDocument(path, cdi::Text(document));
}

bool GrantBinder::AnyLacksRoom() const {
  return clock_.Now().time_since_epoch().count() < no_room_until_;
}

Result<std::set<std::string>> GrantBinder::Live() {
  std::lock_guard lock(binding_);
  std::set<std::string> live;
  for (const Held& held : *TRY(ReadCheckpoint())) live.insert(held.name);
  return live;
}

void GrantBinder::RemoveForgotten(const std::set<std::string>& cdi_dirs) {
  // A container may have left so many files that removing them takes longer than until the next
  // time: threads that others need do not queue up behind it.
  const std::unique_lock lock(removing_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const auto grants = pins_.Grants();
  if (!grants) return;
  const auto live = Live();
  if (!live) return;
  std::map<std::string, Steady> forgotten;
  const Steady now = clock_.Now();
  for (const std::string& name : *grants) {
    if (live->contains(name)) continue;
    const auto known = forgotten_.find(name);
    const Steady since = known == forgotten_.end() ? now : known->second;
    if (now - since >= kForgotten) {
      Remove(name, cdi_dirs);
    } else {
      forgotten[name] = since;
    }
  }
  forgotten_ = std::move(forgotten);
}

Status GrantBinder::RemoveAll(const std::set<std::string>& cdi_dirs) {
  if (!pins_.any()) return {};
  for (const std::string& name : TRY(pins_.Grants())) Remove(name, cdi_dirs);
  const std::vector<std::string> left = TRY(pins_.Grants());
  if (left.empty()) return {};
  return Fail(Reason::kIo, "the directory of grant {} cannot be removed", left.front());
}

// The record last, by which the rest is found again.
void GrantBinder::Remove(const std::string& name, const std::set<std::string>& cdi_dirs) {
  const auto pin = pins_.Find(name);
  for (const std::string& directory : cdi_dirs) {
    (void)os::RemoveFile(directory + "/" + GrantFileName(name));
  }
  // Where kubelet has lost its checkpoint, a container has a second grant, and the same directory.
  const bool own =
      pin && *pin && IsOwnDirectory(**pin, name) && !pins_.IsShared((*pin)->directory, name);
  const Status removed = own ? os::RemoveTree(root_.Path((*pin)->directory)) : Status();
  if (!removed) {
    return log::Warn("the directory of a grant that has ended stays, and is tried again",
                     removed.error(), {{"grant", name}});
  }
  pins_.Remove(name);
  log::Info("a grant has ended", {{"grant", name}});
}

}  // namespace tessera::agent
