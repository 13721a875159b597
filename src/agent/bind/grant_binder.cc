// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/grant_binder.h"

#include <algorithm>
#include <utility>

#include "agent/bind/grant_files.h"
#include "agent/cdi/cdi_file.h"
#include "backend/node_facts.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::agent {
namespace {

// kubelet tries again more often than that.
constexpr Duration kLately{60'000};

constexpr std::string_view kNotStarted = "a container is not started";

// In the order in which the container sees them.
std::vector<std::string> DevicesOf(const Pin& pin) {
  std::vector<std::string> devices;
  for (const VgpuPart& part : pin.parts) devices.push_back(part.device);
  return devices;
}

// kubelet keeps what it was answered, and the pod what was written on it.
bool IsForGood(Reason reason) {
  return reason == Reason::kBadDecision || reason == Reason::kWrongMatch;
}

bool MayEvict(const Binding& binding, Reason reason) {
  return reason == Reason::kWrongMatch && binding.rendering.vgpu->requests->evict_mismatched;
}

}  // namespace

// The claims learn from each state of the checkpoint for whom kubelet has asked.
Result<HeldGrantsPtr> GrantBinder::Read() {
  std::lock_guard lock(told_mutex_);  // no older state is told after a newer one
  Result<HeldGrantsPtr> read = checkpoint_.Read();
  if (IsOfUnknownShape(read)) {
    read = Fail(Reason::kInvalid, "its shape is not known here{}, a newer agent may know it: {}",
                versions_ ? " (" + versions_() + ")" : "", read.error().message);
  }
  NoteShape(read);
  HeldGrantsPtr held = TRY(std::move(read));
  if (held == told_) return held;
  told_ = held;
  std::map<std::string, ContainerClaims::Answered> answered;
  for (const HeldGrant& one : held->all()) {
    answered[one.resource].insert({one.pod_uid, one.container});
  }
  context_->claims.SetHeld(std::move(answered));
  return held;
}

void GrantBinder::NoteShape(const Result<HeldGrantsPtr>& read) {
  const bool unknown = IsOfUnknownShape(read);
  if (!read && !unknown) return;  // nobody knows
  if (shape_unknown_.exchange(unknown) == unknown) return;
  if (!unknown) return log::Info("kubelet's checkpoint is of a shape that is known again");
  log::Warn(
      "kubelet's checkpoint is of a shape that this agent does not know: until a newer agent is "
      "here, no container with virtual GPUs is made, those that run go on, and nothing is removed "
      "of grants that have ended",
      read.error());
}

// kGrantUnknown where there are none, or nobody says.
Result<HeldGrants::Some> GrantBinder::Find(const Result<HeldGrantsPtr>& held,
                                           const Binding& binding,
                                           const std::vector<std::string>& ids) {
  const std::string& resource = binding.offer.resource;
  if (!held) {
    return Fail(Reason::kGrantUnknown,
                "{}: kubelet's checkpoint does not say which container this is: {}", resource,
                held.error().message);
  }
  const HeldGrants::Some& found = (*held)->With(resource, ids);
  if (!found.empty()) return found;
  return Fail(Reason::kGrantUnknown, "{}: no container in kubelet's checkpoint holds {}", resource,
              Join(ids, ","));
}

Result<std::string> GrantBinder::PodToKnow(const Binding& binding,
                                           const std::vector<std::string>& ids, const Pods& known) {
  if (!binding.rendering.vgpu->requests) return "";
  const Result<HeldGrantsPtr> all = Read();  // which has what is found in it
  for (const HeldGrant* held : TRY(Find(all, binding, ids))) {
    const bool by_request = IsGrantName(held->name) && held->by_request();
    if (!by_request || known.contains(held->pod_uid)) continue;
    const auto pin = pins_.Find(held->name);
    if (pin && *pin == nullptr) return held->pod_uid;
  }
  return "";
}

// Whoever comes first decides for all who have come by then; who comes meanwhile is decided for
// together afterwards.
void GrantBinder::Bind(const Binding& binding, const std::vector<std::string>& ids,
                       const Pods& known, std::function<void(Status)> done) {
  {
    const std::lock_guard turns(turns_);
    waiting_.push_back(std::make_unique<Wish>(binding, ids, known, std::move(done)));
    if (std::exchange(deciding_, true)) return;
  }
  TakeTurn();
}

// Many have their pins written at once, since a disk that many wait for takes about as long as for
// one.
void GrantBinder::TakeTurn() {
  const auto turn = std::make_shared<Turn>();
  {
    const std::lock_guard turns(turns_);
    turn->wishes.swap(waiting_);
  }
  DecideAll(turn->wishes, turn->alone);
  const auto self = shared_from_this();
  workers_.ForEach(
      turn->wishes.size(), [self, turn](size_t i) { self->Prepare(*turn->wishes[i]); },
      [self, turn] { self->EndTurn(turn); });
}

void GrantBinder::Prepare(Wish& wish) const {
  for (const auto& [held, decided] : wish.grants) {
    if (decided && decided->is_new) {
      wish.pins.emplace_back(held->name, pins_.Prepare(held->name, decided->pin));
    }
  }
}

void GrantBinder::EndTurn(const std::shared_ptr<Turn>& turn) {
  Add(turn->wishes);
  turn->alone.reset();
  const auto self = shared_from_this();
  {
    const std::lock_guard turns(turns_);
    deciding_ = !waiting_.empty();
    if (deciding_) workers_.Run([self] { self->TakeTurn(); });
  }
  workers_.ForEach(
      turn->wishes.size(),
      [self, turn](size_t i) {
        const Wish& wish = *turn->wishes[i];
        wish.done(self->Finish(wish));
      },
      [] {});
}

Status GrantBinder::Finish(const Wish& wish) {
  if (!wish.found) {
    const Error& why = wish.found.error();
    refusals_.Tell(kNotStarted, why, why.message,
                   {{"resource", wish.binding.offer.resource}, {"ids", Join(wish.ids, ",")}});
    context_->events.Keep({.resource = wish.binding.offer.resource, .error = why});
    return wish.found;
  }
  for (const Wish::One& one : wish.grants) {
    const Status bound = FinishOne(wish, one);
    if (bound) {
      context_->events.EndRefusals(one.held->pod_uid, one.held->container);
      continue;
    }
    TellRefused(wish, *one.held, bound.error());
    if (wish.binding.rendering.vgpu->requests) {
      context_->events.Refused({.pod_uid = one.held->pod_uid,
                                .container = one.held->container,
                                .error = bound.error(),
                                .for_good = IsForGood(bound.error().reason),
                                .evict = MayEvict(wish.binding, bound.error().reason)});
    }
    return bound;
  }
  return {};
}

// Who was waited for may have left the cache since.
std::string GrantBinder::NameIn(const Wish& wish, const std::string& uid) const {
  const auto known = wish.known.find(uid);
  return known == wish.known.end() ? context_->pods.NameOf(uid) : known->second->FullName();
}

// Texts of one cause differ, as by what is free at the time.
void GrantBinder::TellRefused(const Wish& wish, const HeldGrant& held, const Error& why) {
  refusals_.Tell(kNotStarted, why, fmt::format("{}/{}", held.pod_uid, held.container),
                 {{"resource", wish.binding.offer.resource},
                  {"pod", NameIn(wish, held.pod_uid)},
                  {"uid", held.pod_uid},
                  {"container", held.container}});
  context_->events.Keep({.pod_uid = held.pod_uid,
                         .container = held.container,
                         .resource = wish.binding.offer.resource,
                         .error = why});
}

void GrantBinder::DecideAll(Wishes wishes, std::optional<os::FileLock>& alone) {
  Result<HeldGrantsPtr> held = Read();
  bool any_new = false;
  for (const auto& wish : wishes) any_new = Look(*wish, held) || any_new;
  std::optional<GrantPins::Names> written;
  Status locked;
  if (any_new) {
    locked = Lock(alone, written);
    // Another instance may have granted what kubelet has written since.
    held = Read();
    for (const auto& wish : wishes) Look(*wish, held, written ? &*written : nullptr);
  }
  if (!held) return;
  ShareFiles(wishes);
  placer_.Begin(*held, RecordsOf(**held, written ? &*written : nullptr), context_->pods.Snapshot());
  for (const auto& wish : wishes) {
    if (wish->found && wish->is_new && !locked) wish->found = locked;
    if (wish->found) DecideFor(*wish);
  }
  placer_.End();
}

Placer::Records GrantBinder::RecordsOf(const HeldGrants& held, const GrantPins::Names* written) {
  Placer::Records records;
  for (const HeldGrant& one : held.all()) {
    if (IsGrantName(one.name)) records.emplace(one.name, pins_.Find(one.name, written));
  }
  return records;
}

Status GrantBinder::Lock(std::optional<os::FileLock>& alone,
                         std::optional<GrantPins::Names>& written) {
  alone.emplace(TRY(pins_.Lock()));
  written = TRY(pins_.Grants());
  return {};
}

// Once for all whose configuration is the same.
void GrantBinder::ShareFiles(Wishes wishes) const {
  std::map<const Vgpu*, Status> made;
  for (const auto& wish : wishes) {
    if (!wish->found) continue;
    const Vgpu& vgpu = *wish->binding.rendering.vgpu;
    const auto known = made.find(&vgpu);
    wish->shared =
        known != made.end() ? known->second : (made[&vgpu] = MakeSharedFiles(root_, vgpu));
  }
}

// Whether there is something new in it.
bool GrantBinder::Look(Wish& wish, const Result<HeldGrantsPtr>& held,
                       const GrantPins::Names* written) {
  auto some = Find(held, wish.binding, wish.ids);
  wish.found = some ? Status() : Fail(some.error());
  wish.is_new = false;
  if (!some) return false;
  wish.held = *held;
  wish.some = *std::move(some);
  wish.is_new = std::ranges::any_of(wish.some, [&](const HeldGrant* one) {
    if (!IsGrantName(one->name)) return false;
    const auto pin = pins_.Find(one->name, written);
    return !pin || *pin == nullptr;  // what cannot be read now may be none a moment later
  });
  return wish.is_new;
}

void GrantBinder::DecideFor(Wish& wish) {
  for (const HeldGrant* held : wish.some) {
    if (held->name.empty()) continue;
    auto decided = placer_.Decide(wish.binding, *held, wish.known);
    if (!decided && decided.error().reason == Reason::kNoRoom) {
      no_room_until_ = (clock_.Now() + kLately).time_since_epoch().count();
    }
    wish.grants.push_back({held, std::move(decided)});
    if (!wish.grants.back().decided) return;
  }
}

// No document names a grant that is not on the disk: nor one of somebody who wished for the same.
void GrantBinder::Add(Wishes wishes) {
  const auto fail = [&](const std::string& grant, const Error& why) {
    for (const auto& wish : wishes) {
      for (auto& [held, decided] : wish->grants) {
        if (held->name == grant) decided = Fail(why);
      }
    }
  };
  std::vector<GrantPins::Prepared> pins;
  for (const auto& wish : wishes) {
    for (auto& [grant, prepared] : wish->pins) {
      if (prepared) {
        pins.push_back(*std::move(prepared));
      } else {
        fail(grant, prepared.error());
      }
    }
  }
  if (pins.empty()) return;
  const std::vector<Status> added = pins_.Add(pins);
  for (size_t i = 0; i < added.size(); ++i) {
    if (!added[i]) fail(pins[i].grant, added[i].error());
  }
}

Status GrantBinder::FinishOne(const Wish& wish, const Wish::One& one) {
  if (!one.decided) return Fail(one.decided.error());
  const Binding& binding = wish.binding;
  const Pin& pin = *one.decided->pin;
  if (one.decided->is_new) {
    log::Info("a grant is bound", {{"resource", pin.resource},
                                   {"grant", one.held->name},
                                   {"pod", NameIn(wish, pin.pod_uid)},
                                   {"uid", pin.pod_uid},
                                   {"container", pin.container},
                                   {"parts", PartsText(pin.parts)}});
    Note(pin);
    if (!pin.decision.empty()) Tell(binding, *wish.known.at(pin.pod_uid), pin);
  }
  TRY(wish.shared);
  TRY(MakeGrantFiles(root_, *binding.rendering.vgpu, one.held->name, pin, one.held->answer));
  Follow(one.held->name, pin);
  if (one.held->matched || !WritesCdi(binding.rendering)) return {};
  return WriteDocument(binding, pin, one.held->name);
}

// By its region; that of another library is known as one of which nobody can be told.
void GrantBinder::Follow(const std::string& name, const Pin& pin) {
  times_.Add(name, root_.Path(pin.directory), RegionNameOf(name), DevicesOf(pin));
}

// Of what kubelet's shares do not tell.
void GrantBinder::Note(const Pin& pin) const {
  if (pin.decision.empty()) return;
  inbox_->PutBound({.pod_uid = pin.pod_uid,
                    .container = pin.container,
                    .resource = pin.resource,
                    .devices = DevicesOf(pin),
                    .since = clock_.Now()});
}

void GrantBinder::TellLedger() {
  const auto grants = pins_.Grants();
  if (!grants) return;
  for (const std::string& grant : *grants) {
    const auto pin = pins_.Find(grant);
    if (!pin || *pin == nullptr) continue;
    Note(**pin);
    Follow(grant, **pin);
  }
}

std::vector<BoundContainer> GrantBinder::Former() {
  std::vector<BoundContainer> all;
  const auto grants = pins_.Grants();
  if (!grants) return all;
  for (const std::string& grant : *grants) {
    const auto pin = pins_.Find(grant);
    if (!pin || *pin == nullptr || (*pin)->decision.empty()) continue;
    all.push_back({.pod_uid = (*pin)->pod_uid,
                   .container = (*pin)->container,
                   .resource = (*pin)->resource,
                   .parts = (*pin)->parts,
                   .fitted = (*pin)->fitted ? (*pin)->decision : Decision()});
  }
  return all;
}

void GrantBinder::Tell(const Binding& binding, const kube::Pod& pod, const Pin& pin) const {
  const Vgpu& vgpu = *binding.rendering.vgpu;
  const auto own = std::ranges::find(pin.decision, pin.container, &DecidedContainer::name);
  BoundContainer bound{.pod_uid = pin.pod_uid,
                       .container = pin.container,
                       .resource = pin.resource,
                       .parts = own->parts};
  if (pin.fitted) {
    bound.fitted = pin.decision;
  } else {
    bound.less = LessThanAsked(pod, RulesOf(pin.resource, *vgpu.requests),
                               CardsOf(binding.offer, vgpu), *own);
  }
  context_->events.Bound(bound);
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
                        .library = LibraryOf(root_, vgpu, pin),
                        .locked = FormerWantsLock(root_, vgpu, pin),
                        .has_no_limits = os::Exists(root_.Path(NoLimitsFileOf(vgpu, name)))};
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
  const HeldGrantsPtr all = TRY(Read());
  std::set<std::string> live;
  for (const HeldGrant& held : all->all()) live.insert(held.name);
  return live;
}

}  // namespace tessera::agent
