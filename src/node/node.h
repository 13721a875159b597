// SPDX-License-Identifier: Apache-2.0
// What the agent knows about the node: the inventory, a verdict for each device, the cordons and
// the ledger. Everything that happens comes in here, and each call returns what it changed; the
// reconciler (reconciler.h) does what follows from that. No I/O. One thread: the loop's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/inventory.h"
#include "health/health.h"
#include "ledger/ledger.h"
#include "node/state.h"

namespace tessera {

// One device's step from one health state to another.
struct Transition {
  DeviceKey key;
  Verdict before;
  Verdict after;
};

// What one device was observed to be.
struct Observation {
  DeviceKey key;
  Evidence evidence;
};

// How soon kubelet is to have what changed.
enum class Urgency : bool {
  kCanWait,
  kAtOnce,  // a device that was offered as healthy no longer is
};

// What one call changed of a source's devices, or of what is to be said of them.
struct Changes {
  std::string source;
  std::vector<Transition> transitions{};
  Urgency urgency = Urgency::kCanWait;
};

// Whether good checks alone do not bring the device back.
bool OutlastsChecks(const Verdict& verdict, Steady now);

class Node {
 public:
  struct Parameters {
    HealthPolicy policy;
    Duration stale_after{60'000};
    Duration ledger_pending{600'000};
  };

  Node(const Clock& clock, Parameters parameters);
  void SetParameters(const Parameters& parameters) { parameters_ = parameters; }

  // Takes what an earlier process saved, before anything else is told. Devices without a verdict
  // are unverified.
  void Restore(Facts facts, Verdicts verdicts);
  // Cordons as another instance left them: they replace those held here.
  std::vector<Changes> AdoptCordons(Cordons cordons);

  // Plans as another instance left them: they count until it is known who holds what.
  void AdoptPlans(const Plans& plans);
  // Falls that another instance saw and this one did not: where it says that a device is out, since
  // later than what is held here, that counts.
  std::vector<Changes> AdoptFalls(const Verdicts& verdicts);

  // What is to be saved: facts whenever the generation is another; of the verdicts, those of
  // `unsaved_verdicts`, or all of them.
  uint64_t facts_generation() const { return facts_generation_; }
  const Cordons& cordons() const { return cordons_; }
  const Plans& plans() const { return plans_; }
  bool all_verdicts_unsaved() const { return all_unsaved_; }
  // One of them is that a device is out: the others can wait, the next start would only think worse
  // of a device than it should.
  bool fall_unsaved() const { return fall_unsaved_; }
  const std::set<DeviceKey, DeviceKeyLess>& unsaved_verdicts() const { return unsaved_; }
  // Saved by an earlier process about devices that were not found yet: to be kept.
  const Verdicts& awaited_verdicts() const { return awaited_; }
  // Likewise, about devices that left, for the source that finds the hardware next.
  const Verdicts& departed_verdicts() const { return departed_; }
  void VerdictsSaved();
  // Nobody knows what of them was saved.
  void VerdictsLost() { all_unsaved_ = fall_unsaved_ = true; }

  // A scan of the source listed these devices, all there are.
  std::vector<Changes> UpdateDevices(const std::string& source, std::vector<Device> devices);
  // Whether the source's next scan may let a device leave that the last one missed: until then the
  // ledger may hear of a grant that was made meanwhile.
  bool AnyMayLeave(const std::string& source) const;
  // The source is configured, with devices of this kind. `ids_of_hardware`: see
  // Kind::ids_are_of_hardware.
  void Configure(const std::string& source, bool ids_of_hardware, const std::string& kind = "");
  // Devices of the source that are well, or were not checked yet, are unverified from now on, for
  // this reason; those that are not stay as they are.
  std::vector<Changes> Unverify(const std::string& source, Reason reason,
                                const std::string& detail);
  // Why nothing of the source can be granted for now, however well its devices are; nothing: it
  // can.
  std::vector<Changes> SetObstacle(const std::string& source, std::optional<Error> why);
  const std::map<std::string, Error>& obstacles() const { return obstacles_; }
  // What is prepared for grants, all there is: devices that count as held for that, those of them
  // that are not back, and sources for which nothing can be prepared.
  using DeviceObstacles = std::map<DeviceKey, Error, DeviceKeyLess>;
  std::vector<Changes> SetPrepared(std::set<DeviceKey, DeviceKeyLess> held,
                                   DeviceObstacles outstanding,
                                   std::map<std::string, Error> obstacles);
  // The source is no longer configured: its devices stay, as gone, for as long as they may be in
  // use, and the same hardware is not offered by another source meanwhile.
  void Retire(const std::string& source);
  // Nothing of this retired source will be granted any more: what nobody holds leaves. Once nothing
  // of it is left, it is retired no more.
  std::vector<Changes> EndRetired(const std::string& source);
  std::set<std::string> retired() const;
  // Whether a device vanished and stays, as it may be in use.
  bool AnyVanished() const;
  // Evidence about devices of one source; unknown devices are ignored.
  std::vector<Changes> Observe(const std::string& source,
                               const std::vector<Observation>& observations);
  // Devices that take the same hardware keep each other out while a container may have one of them,
  // and a function of the PCI bus is of one kind at a time: what changed by what was granted, or
  // has ended. A device that is made of others is out while one of those is.
  std::vector<Changes> LookAtRivals();
  // Devices of which nothing was heard for too long become unhealthy.
  std::vector<Changes> Tick();
  // When the next one will, if nothing is heard of it; nothing when none is offered.
  std::optional<Steady> NextStale() const;

  // Takes a device out by hand, or puts it back. `name` is "source/id", or an id that only one
  // source has, or what both begin with as tables show it: "GPU-8a1f1d3c…". kNotFound, or kInvalid
  // when it is ambiguous.
  struct OrderResult {
    DeviceKey device;
    std::vector<Changes> changes;
  };
  Result<OrderResult> Cordon(std::string_view name, std::string_view reason);
  Result<OrderResult> Uncordon(std::string_view name);
  Result<DeviceKey> Resolve(std::string_view name) const;

  // Why a device is not offered as healthy, in one sentence; nothing when it is. What is wrong with
  // it goes before an obstacle, and that before what is wrong with one that goes together with it.
  std::optional<Error> TroubleOf(const Device& device) const;
  // How the source's devices are to be divided when `wanted` is configured: as they were last while
  // it is not known who holds what, but for what kubelet's checkpoint says; and each that nobody
  // holds as configured from then on.
  Plan PlanFor(const std::string& source, const Policy& wanted) const;
  // So they are from now on. True when that is news: to be saved before anybody can hold a share.
  bool SetPlan(const std::string& source, const Plan& plan);
  const Verdict& VerdictOf(const DeviceKey& key) const;
  const tessera::Cordon* CordonOf(const Device& device) const;
  // Whether every present device of the source has been checked on this boot.
  bool Verified(std::string_view source) const;
  // Whether every one that can be is healthy.
  bool AllHealthy(std::string_view source) const;

  const InventoryPtr& inventory() const { return inventory_; }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }

 private:
  std::vector<DeviceKey> KeysStartingWith(std::string_view name) const;
  struct Health {
    Verdict verdict;
    Steady heard{};  // when the last evidence came; zero: never
  };

  // node_hardware.cc: what several sources may each call their own.
  bool MayShareHardware(const std::string& source) const;
  // Devices of other sources that are the same hardware, or a part or the whole of it.
  std::vector<size_t> SameHardware(const Device& device) const;
  // Whether one of those may be in use, or be granted still: the hardware would be granted twice.
  std::optional<Error> HeldElsewhere(const Device& device) const;
  // Other sources that may have the same hardware: what is to be said of their devices may differ.
  std::vector<Changes> SharersOf(const std::string& source) const;
  void Depart(const Device& device, const Verdict& verdict);
  void TakeOver(size_t position);
  void ResetElsewhere(const Device& device);
  bool Concerns(const DeviceKey& cordoned, const Device& device) const;
  // Of these sources, and of all that may have the same hardware.
  std::vector<Changes> CordonsChanged(std::set<std::string> sources, Urgency urgency);

  // node_relations.cc: how devices stand to each other by their traits.
  using KeptOut = std::map<DeviceKey, Error, DeviceKeyLess>;
  void IndexRelations();
  void IndexRivals(size_t position, std::map<std::string_view, size_t>& takers);
  KeptOut ExcludedDevices();
  // node_owners.cc: the devices of kinds that do not own their functions of the PCI bus.
  using Claims = std::map<std::string, std::vector<size_t>>;
  void SetClaims(Claims claims);
  void AddDisowned(KeptOut& out);
  const Device& OwnerOf(const std::string& address, std::span<const Device* const> claims) const;
  std::string KindNameOf(const Device& device) const;
  const Error* KeptOutBy(const Device& device) const;
  std::optional<Error> TroubleOfPartners(const Device& device) const;
  std::optional<Error> OwnTroubleOf(const Device& device) const;
  std::optional<Error> AbsenceOf(const Device& device) const;
  std::optional<Error> SicknessOf(const Device& device) const;
  const Error* ObstacleOf(const Device& device) const;
  void AddBroken(KeptOut& out) const;

  // When it becomes stale if nothing is heard of it; nothing of one that is out.
  std::optional<Steady> StaleFrom(size_t position) const;
  void Judge(size_t position, const Evidence& evidence, std::vector<Transition>& steps);
  void Set(size_t position, Verdict after, std::vector<Transition>& steps);
  void Replace(InventoryPtr inventory);
  std::optional<size_t> PositionOf(const DeviceKey& key) const;
  // Whether all present devices of the source are so.
  template <class Is>
  bool Every(std::string_view source, Is is) const;

  const Clock& clock_;
  Parameters parameters_;
  InventoryPtr inventory_;
  std::vector<Health> health_;   // of the devices of inventory_, in the same order
  mutable size_t expected_ = 0;  // where the next device asked for probably is: after the last one
  // Positions of devices, of those alone that have to do with others: what one of thousands changes
  // costs no look at all of them.
  std::set<size_t> rivals_;       // that take hardware which another takes
  Claims contested_;              // of several sources, by PCI function
  std::vector<size_t> composed_;  // that are made of others
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> bundles_;  // by source, name
  // By the ids that it goes by: its own and its parent's.
  std::unordered_multimap<std::string_view, size_t> by_hardware_;
  KeptOut kept_out_;                           // by devices that containers may have
  std::map<std::string, std::string> kinds_;   // by source
  std::map<std::string, std::string> owners_;  // kinds by the address of a function
  std::set<std::string> hardware_sources_;
  std::map<std::string, bool> retired_;  // whether kubelet may still grant of it
  std::map<std::string, Error> obstacles_;
  // As SetPrepared was told.
  std::map<std::string, Error> prepare_obstacles_;
  DeviceObstacles outstanding_;
  Cordons cordons_;
  Plans plans_;
  Ledger ledger_;
  Verdicts awaited_;
  Verdicts departed_;  // that outlast checks, of devices that left
  uint64_t facts_generation_ = 1;
  bool all_unsaved_ = true;
  bool fall_unsaved_ = false;
  std::set<DeviceKey, DeviceKeyLess> unsaved_;
};

}  // namespace tessera
