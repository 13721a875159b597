// SPDX-License-Identifier: Apache-2.0
// What the agent knows about the node: the inventory, a verdict for each device, the cordons and
// the ledger. Each call takes something that happened and returns what it changed;
// agent/reconciler.h carries out what follows. No I/O. Owned by the agent. One thread: the loop's.
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

// One device's evidence.
struct Observation {
  DeviceKey key;
  Evidence evidence;
};

// How soon kubelet needs the change.
enum class Urgency : bool {
  kCanWait,
  kAtOnce,  // a device that was offered as healthy no longer is
};

// What one call changed: a source's devices, or what is said of them.
struct Changes {
  std::string source;
  std::vector<Transition> transitions{};
  Urgency urgency = Urgency::kCanWait;
};

// Whether good checks alone cannot bring the device back: a remedy is missing, or it is held out.
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

  // Takes what an earlier process saved. Comes before every other call. Devices without a verdict
  // are unverified.
  void Restore(Facts facts, Verdicts verdicts);
  // Replaces the cordons by those that another instance saved.
  std::vector<Changes> AdoptCordons(Cordons cordons);

  // Takes plans that another instance saved, for sources whose holders are not known yet.
  void AdoptPlans(const Plans& plans);
  // Takes falls that another instance saw. Its verdict counts if it says that a device is out, and
  // the one here is older or unverified.
  std::vector<Changes> AdoptFalls(const Verdicts& verdicts);

  // What is to be saved: facts, whenever the generation changes; verdicts, those of
  // `unsaved_verdicts` or all of them.
  uint64_t facts_generation() const { return facts_generation_; }
  const Cordons& cordons() const { return cordons_; }
  const Plans& plans() const { return plans_; }
  bool all_verdicts_unsaved() const { return all_unsaved_; }
  // Whether an unsaved verdict says that a device is out. The others can wait: without them the
  // next start only assumes a worse state.
  bool fall_unsaved() const { return fall_unsaved_; }
  const std::set<DeviceKey, DeviceKeyLess>& unsaved_verdicts() const { return unsaved_; }
  // Saved verdicts of devices that no scan has found yet. They are kept.
  const Verdicts& awaited_verdicts() const { return awaited_; }
  // Verdicts of devices that have left, for the source that finds the hardware next.
  const Verdicts& departed_verdicts() const { return departed_; }
  void VerdictsSaved();
  // It is unknown which verdicts are on disk: all count as unsaved.
  void VerdictsLost() { all_unsaved_ = fall_unsaved_ = true; }

  // A scan of the source found these devices, and no others.
  std::vector<Changes> UpdateDevices(const std::string& source, std::vector<Device> devices);
  // Whether the source's next scan may let a device leave that the last one missed. Until that scan
  // the ledger can still get a grant that was made in between.
  bool AnyMayLeave(const std::string& source) const;
  // The source is configured, with devices of this kind. `ids_of_hardware`: as
  // Kind::ids_are_of_hardware.
  void Configure(const std::string& source, bool ids_of_hardware, const std::string& kind = "");
  // Makes the source's healthy, suspect and unverified devices unverified, for this reason.
  // Unhealthy and recovering ones keep their state.
  std::vector<Changes> Unverify(const std::string& source, Reason reason,
                                const std::string& detail);
  // Sets why no device of the source can be granted at present, whatever its health; nullopt: they
  // can.
  std::vector<Changes> SetObstacle(const std::string& source, std::optional<Error> why);
  const std::map<std::string, Error>& obstacles() const { return obstacles_; }
  // Sets all that is prepared for grants: devices that count as held for it, why some of these are
  // outstanding, sources for which preparing is impossible, and devices that their source does not
  // prepare any more. Of those no share is offered but what containers hold.
  using DeviceObstacles = std::map<DeviceKey, Error, DeviceKeyLess>;
  using DeviceKeys = std::set<DeviceKey, DeviceKeyLess>;
  std::vector<Changes> SetPrepared(DeviceKeys held, DeviceObstacles outstanding,
                                   std::map<std::string, Error> obstacles, DeviceKeys left = {});
  // The source is no longer configured. Its devices stay, as gone, while they may be in use. Until
  // then no other source offers the same hardware.
  void Retire(const std::string& source);
  // No share of this retired source will be granted any more. Devices without a holder leave; once
  // all have left, the source is forgotten.
  std::vector<Changes> EndRetired(const std::string& source);
  std::set<std::string> retired() const;
  // Whether a vanished device is still in the inventory, because it may be in use.
  bool AnyVanished() const;
  // Judges evidence about devices of one source. Unknown devices are ignored.
  std::vector<Changes> Observe(const std::string& source,
                               const std::vector<Observation>& observations);
  // Finds what grants, ends and verdicts changed for related devices:
  // - devices that take the same hardware exclude each other while a container may have one of
  //   them;
  // - a function of the PCI bus belongs to one kind at a time;
  // - a device made of others is out while one of those is.
  std::vector<Changes> LookAtRivals();
  // Takes out devices without any evidence for `stale_after`.
  std::vector<Changes> Tick();
  // When the next device becomes stale without new evidence; nullopt: none is offered.
  std::optional<Steady> NextStale() const;

  // Takes a device out by a person's order, or puts it back. `name` is "source/id", an id that only
  // one source has, or the start of either as tables show it: "GPU-8a1f1d3c…". kNotFound, or
  // kInvalid if it is ambiguous.
  struct OrderResult {
    DeviceKey device;
    std::vector<Changes> changes;
  };
  Result<OrderResult> Cordon(std::string_view name, std::string_view reason);
  Result<OrderResult> Uncordon(std::string_view name);
  Result<DeviceKey> Resolve(std::string_view name) const;

  // Why a device is not offered as healthy, in one sentence; nullopt: it is. Its own trouble comes
  // before an obstacle, and an obstacle before the trouble of a device in its bundle.
  std::optional<Error> TroubleOf(const Device& device) const;
  // How the source's devices are divided if `wanted` is configured. Until kubelet has said who
  // holds what, as they were divided last, with what the checkpoint says is held. From then on,
  // each device without a holder as configured.
  Plan PlanFor(const std::string& source, const Policy& wanted) const;
  // Takes this plan. True if it is new: it must be saved before a container can hold a share.
  bool SetPlan(const std::string& source, const Plan& plan);
  const Verdict& VerdictOf(const DeviceKey& key) const;
  const tessera::Cordon* CordonOf(const Device& device) const;
  // Whether every present device of the source has been checked on this boot.
  bool Verified(std::string_view source) const;
  // Whether every device is healthy, apart from devices with a defect.
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

  // node_hardware.cc: hardware that several sources can have as theirs.
  bool MayShareHardware(const std::string& source) const;
  // Devices of other sources that are the same hardware, or a part or the whole of it.
  std::vector<size_t> SameHardware(const Device& device) const;
  // Why the device is not offered: one of those may be in use, or be granted still.
  std::optional<Error> HeldElsewhere(const Device& device) const;
  // Changes for other sources that may have the same hardware: the trouble of their devices may
  // differ now.
  std::vector<Changes> SharersOf(const std::string& source) const;
  void Depart(const Device& device, const Verdict& verdict);
  void TakeOver(size_t position);
  // Moves verdicts that outlast checks, and cordons, from devices that have gone to those that came
  // in the same scan and are them by another id. Both are positions.
  void Rename(std::span<const size_t> gone, std::span<const size_t> came);
  void ResetElsewhere(const Device& device);
  bool Concerns(const DeviceKey& cordoned, const Device& device) const;
  // For these sources, and for all that may have the same hardware.
  std::vector<Changes> CordonsChanged(std::set<std::string> sources, Urgency urgency);

  // node_relations.cc: how devices stand to each other by their traits.
  using KeptOut = std::map<DeviceKey, Error, DeviceKeyLess>;
  void IndexRelations();
  void IndexRivals(size_t position, std::map<std::string_view, size_t>& takers);
  void IndexParts(size_t whole);
  void IndexGone(size_t whole);
  std::vector<std::string> TakesOf(size_t position) const;
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
  std::optional<Error> BrokenBy(const DeviceKey& part, const KeptOut& out) const;
  // Whether a container may have the device, or one that is made of it.
  bool MayBeInUse(const DeviceKey& key) const;

  // When the device becomes stale without evidence; nullopt: it is out.
  std::optional<Steady> StaleFrom(size_t position) const;
  void Judge(size_t position, const Evidence& evidence, std::vector<Transition>& steps);
  void Set(size_t position, Verdict after, std::vector<Transition>& steps);
  void Replace(InventoryPtr inventory);
  std::optional<size_t> PositionOf(const DeviceKey& key) const;
  // Whether `is` holds for all present devices of the source.
  template <class Is>
  bool Every(std::string_view source, Is is) const;

  const Clock& clock_;
  Parameters parameters_;
  InventoryPtr inventory_;
  std::vector<Health> health_;   // of the devices of inventory_, in the same order
  mutable size_t expected_ = 0;  // position after the last one asked for: the likely next one
  // Positions of the devices that are related to others. So a change of one device does not cost a
  // look at thousands.
  std::set<size_t> rivals_;       // devices that take hardware which another one takes
  Claims contested_;              // functions that several sources have
  std::vector<size_t> composed_;  // devices that are made of others
  // What devices take beyond their traits: parts take themselves, and a device that is gone takes
  // its parts.
  std::multimap<size_t, std::string> part_names_;
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> bundles_;  // by source, name
  // By device id: the device's own and its parent's.
  std::unordered_multimap<std::string_view, size_t> by_hardware_;
  KeptOut kept_out_;                           // devices kept out by one that a container may have
  std::map<std::string, std::string> kinds_;   // by source
  std::map<std::string, std::string> owners_;  // kinds by the address of a function
  std::set<std::string> hardware_sources_;
  std::map<std::string, bool> retired_;  // by source: whether kubelet may still grant its shares
  std::map<std::string, Error> obstacles_;
  // The last arguments of SetPrepared.
  std::map<std::string, Error> prepare_obstacles_;
  DeviceObstacles outstanding_;
  DeviceKeys left_prepared_;
  Cordons cordons_;
  Plans plans_;
  Ledger ledger_;
  Verdicts awaited_;
  Verdicts departed_;  // verdicts of devices that left, if they outlast checks
  uint64_t facts_generation_ = 1;
  bool all_unsaved_ = true;
  bool fall_unsaved_ = false;
  std::set<DeviceKey, DeviceKeyLess> unsaved_;
};

}  // namespace tessera
