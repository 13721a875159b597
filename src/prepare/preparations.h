// SPDX-License-Identifier: Apache-2.0
// Prepares devices for grants whose containers are about to be made, and undoes that once kubelet
// has forgotten the grants. Each step is in the journal first (journal.h), so the next agent can
// continue after a crash at any point:
//
//   preparing ──Prepare succeeds in time───▶ prepared ──kubelet has forgotten, or its shares are
//       │                                       │        another grant's──▶ unpreparing
//       └──it fails or comes late; after a crash, asked for again──▶ unpreparing
//   unpreparing ──Unprepare succeeds──▶ no entry
//
// A share is prepared for one grant at a time, unless the grants' parts are of different devices. A
// reboot leaves no device prepared. A failed undo is retried with growing pauses. Until it
// succeeds, its devices are outstanding: they are not granted, and other devices are not affected.
// Devices of an unreadable entry are outstanding too. Every device with an entry counts as held.
//
// Kinds' preparers run on threads of this class. Only one agent instance prepares at a time. The
// object is shared, because kubelet's calls and preparers that hang may outlive the agent's parts.
// Any thread; functions wait for disks unless they say otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/kind.h"
#include "backend/preparer.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "binding/held_grants.h"
#include "device/device.h"
#include "fraction/placer.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/worker.h"
#include "prepare/journal.h"

namespace tessera {

class Preparations : public std::enable_shared_from_this<Preparations> {
 public:
  static constexpr Duration kDeadline{20'000};  // kubelet's call ends after 25 s
  // kubelet rewrites its checkpoint when it starts, so a grant that is briefly missing is not gone.
  static constexpr Duration kForgotten{60'000};
  static constexpr Duration kHangs{10'000};  // an Unprepare that takes longer hangs
  // Pauses between attempts of one undo.
  static constexpr Duration kFirstPause{1'000};
  static constexpr Duration kLastPause{60'000};

  // `root`: the prefix of device nodes. `changed`: Tick is due and `standing` may differ; called on
  // any thread, must not wait.
  Preparations(const std::string& state_dir, os::Root root, std::function<void()> changed,
               const Clock& clock = SystemClock())
      : journal_(state_dir), root_(std::move(root)), changed_(std::move(changed)), clock_(clock) {}

  // Uses the checkpoint in this directory, kubelet's device-plugins, from now on.
  void Open(const std::string& device_plugins);
  // Reads the journal of earlier agents. kStateLocked while another instance has it.
  Status Load();
  // False if there is surely no entry to load.
  bool any() const { return journal_.any(); }

  // Uses this backend's preparer, if any, for the resource from now on. `cdi_dir`: the directory of
  // the grants' documents; it is tested soon. A former backend is kept while its preparations are
  // left. Does not wait, nor does Retire.
  void Serve(const config::Resource& resource, const Kind& kind, std::shared_ptr<Backend> backend,
             const std::string& cdi_dir);
  // The resource is no longer served.
  void Retire(const std::string& resource);

  // A container that is about to be made.
  struct Start {
    Binding binding;  // its references live until Begin returns
    std::shared_ptr<Backend> backend;
    std::vector<std::string> share_ids;
    // What the grants were bound to, if FractionRules::prepared. Else empty: the shares' devices.
    std::vector<Fraction> parts{};
    bool undescribed = false;  // the kind's parts of CDI documents are not known yet
    Duration waited{};         // since kubelet called
    std::function<bool()> wanted;
    std::function<void(Status)> done;
  };
  // Prepares all grants of the resource that have exactly these ids, and writes their documents.
  // Then calls `done` once, on any thread. A prepared grant is not prepared again; its preparer is
  // asked whether it still holds (Preparer::CheckHeld), and may refuse with a reason of its own.
  // Grants of a former plugin have no name, and are left alone.
  //
  // kGrantUnknown: kubelet has no such grant. kNotPrepared: the preparer failed. kPrepareTimedOut:
  // the preparation is late, or still runs for another call. kNotUnprepared: the devices are not
  // back from an earlier grant. kJournalUnreadable: an unreadable entry may concern the devices.
  // kStateLocked: another instance prepares.
  void Begin(Start start);

  // Refuses containers that have waited too long, and starts the undos that are due. Returns when
  // to call it again; nothing: after the next `changed`. Does not wait.
  std::optional<Steady> Tick();
  // Starts the undo of preparations that kubelet has forgotten.
  void RemoveForgotten();
  // The consequences for devices and resources. `standing` and AnyLeft do not wait.
  struct Standing {
    // Devices with an entry: a container may have them.
    std::set<DeviceKey, DeviceKeyLess> held{};
    // Those of `held` that their resource does not prepare any more: until they are undone, no
    // container may get them otherwise.
    std::set<DeviceKey, DeviceKeyLess> left{};
    // Outstanding devices, and why; the message completes "device 7 is unhealthy: ...".
    std::map<DeviceKey, Error, DeviceKeyLess> outstanding{};
    // Resources for which no device can be prepared, and why.
    std::map<std::string, Error> obstacles{};
    // Faults that only a person can fix; each message names its subject.
    std::vector<Error> faults{};
    bool operator==(const Standing&) const = default;
  };
  Standing standing() const;
  // True if an entry is left.
  bool AnyLeft() const;

 private:
  struct Item {
    Preparation entry;
    bool busy = false;                  // one thread owns the entry, and no other may touch it
    std::optional<Steady> forgotten{};  // since when kubelet's checkpoint lacks it
    // For the undo. `trouble`: why it is outstanding.
    Backoff pauses{kFirstPause, kLastPause};
    Steady next{};  // the next attempt; during one: its start
    std::optional<Error> trouble{};
    bool told_unserved = false;  // logged that no backend can undo it
  };
  // A PreStartContainer call.
  struct Call {
    Steady deadline;
    std::function<bool()> wanted;
    std::function<void(Status)> done;  // under mutex_; null: answered
    std::string about;                 // resource and devices, for the answer
    std::atomic<bool> answered = false;
  };
  struct Job {
    std::vector<std::string> former{};  // grants whose entries must be undone first
    Preparation entry{};
    bool is_prepared = false;  // `entry` only has to be confirmed
    bool is_news = false;      // that entry has more grants than its journal's
    cdi::Edits base{};         // edits of the devices before preparation
    std::vector<Device> devices{};
    std::vector<Fraction> parts{};  // of `devices`, or empty
    std::shared_ptr<Backend> backend{};
    std::shared_ptr<Call> call{};
  };
  struct Served {
    std::shared_ptr<Backend> backend;
    std::string cdi_dir;
    bool ids_are_of_hardware = false;  // Kind::ids_are_of_hardware
    bool current = true;
  };
  // The preparer of each served resource; "": its backend has none.
  std::map<std::string, std::string> preparers_ TESSERA_GUARDED_BY(mutex_);
  // Grants that kubelet's checkpoint names.
  struct Named {
    std::set<std::string> grants{};  // of the containers that wait
    std::string pod_uid{};
    std::set<std::string> live{};  // of all containers, those included
  };

  Result<std::shared_ptr<Job>> Claim(const Start& start);
  static void ClaimPrepared(Item& item, Job& job);
  Result<Named> NamedFor(const Start& start);
  Status CheckReadable(const Preparation& wanted) const TESSERA_REQUIRES(mutex_);
  Result<std::vector<Item*>> InTheWay(const Start& start, const Preparation& wanted,
                                      const Named& named) TESSERA_REQUIRES(mutex_);
  std::vector<std::string> HardwareOf(const Device& device, const Preparation& entry) const;
  static Result<std::map<uint32_t, Fraction>> PositionsOf(const Start& start);
  Status Describe(const Start& start, Job& job) const;
  Status Confirm(const Job& job);
  void Run(const Job& job);
  Status UndoFormer(const Job& job);
  Status Prepare(const Job& job);
  Status Keep(const Job& job, Prepared prepared, Preparation& entry);
  bool IsWanted(const Call& call) const;
  void Answer(Call& call, Status status);
  Status PutDocuments(const Preparation& entry);
  // The caller has marked the entry busy.
  Status Undo(const std::string& grant);
  Status UndoBy(const Preparation& entry);
  void Retry(const std::string& grant);
  void Leave(const std::string& grant, bool gone);
  void UndoSoon(const std::string& grant, Item& item) TESSERA_REQUIRES(mutex_);
  std::shared_ptr<Backend> BackendFor(const Preparation& entry) const;
  void TellUnserved();
  void ForgetUnreadable();
  void TakeIn(Preparation entry) TESSERA_REQUIRES(mutex_);
  bool IsLoaded() const;

  // preparations_standing.cc
  void EndServing(const std::string& resource) TESSERA_REQUIRES(mutex_);
  bool IsServed(const Preparation& entry) const TESSERA_REQUIRES(mutex_);
  // Returns `written`. After an error the directories are tested soon.
  Status Wrote(Status written);
  // Starts the test of the directories if it is due; otherwise returns when it is.
  std::optional<Steady> LookWhenDue(Steady now) TESSERA_REQUIRES(mutex_);
  void LookAtDirectories();
  void AddUnread(const UnreadPreparation& unread, Standing& standing) const
      TESSERA_REQUIRES(mutex_);

  const Journal journal_;
  const os::Root root_;
  const std::function<void()> changed_;
  const Clock& clock_;
  Mutex loading_;  // locked before mutex_; no thread waits for a disk under mutex_
  mutable Mutex mutex_;
  std::shared_ptr<CheckpointFile> checkpoint_ TESSERA_GUARDED_BY(mutex_);
  // Held: this instance has the journal.
  std::optional<os::FileLock> lock_ TESSERA_GUARDED_BY(mutex_);
  std::string boot_id_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, Item> items_ TESSERA_GUARDED_BY(mutex_);  // by grant
  std::map<std::string, UnreadPreparation> unreadable_ TESSERA_GUARDED_BY(mutex_);
  // By resource and the preparer's name.
  std::map<std::pair<std::string, std::string>, Served> served_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, Error> mismatched_ TESSERA_GUARDED_BY(mutex_);  // by resource, as the next
  // By resource: the directories fail.
  std::map<std::string, Error> refused_ TESSERA_GUARDED_BY(mutex_);
  bool looking_ TESSERA_GUARDED_BY(mutex_) = false;  // a test of the directories runs
  std::optional<Steady> look_again_ TESSERA_GUARDED_BY(mutex_);
  Backoff look_pauses_ TESSERA_GUARDED_BY(mutex_){kFirstPause, kLastPause};
  std::set<std::shared_ptr<Call>> calls_ TESSERA_GUARDED_BY(mutex_);
  os::Workers workers_{64};  // the number of devices that may hang at once
};

}  // namespace tessera
