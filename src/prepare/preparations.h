// SPDX-License-Identifier: Apache-2.0
// Has devices made ready for the grants whose containers are about to be made, and undoes that once
// kubelet has forgotten them. What is begun is in the journal first (journal.h), so that a crash at
// any point leaves what the next agent understands:
//
//   preparing ──Prepare comes off in time──▶ prepared ──kubelet has forgotten, or its shares are
//       │                                       │        another grant's──▶ unpreparing
//       └──it fails or comes late; after a crash, asked for again──▶ unpreparing
//   unpreparing ──Unprepare comes off──▶ no entry
//
// A share is prepared for one grant at a time, and a reboot leaves nothing prepared. What is undone
// is tried again, ever less often; until it comes off its devices are outstanding, and wait alone.
// So do those of an entry that cannot be read. Whatever has an entry counts as held.
// Calls of kinds come on threads of its own. One instance of the agent does this at a time. Shared:
// kubelet's calls and kinds that hang may outlive the agent's parts. Any thread; it waits for disks
// where nothing else is said.
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
  // kubelet writes its checkpoint anew when it begins: what is missing for a moment is not gone.
  static constexpr Duration kForgotten{60'000};
  static constexpr Duration kHangs{10'000};  // an Unprepare that takes longer
  // Between two attempts of one.
  static constexpr Duration kFirstPause{1'000};
  static constexpr Duration kLastPause{60'000};

  // `root`: where device nodes are looked up. `changed`: Tick is due, and `standing` may be
  // another; called by any thread, and must not wait.
  Preparations(const std::string& state_dir, os::Root root, std::function<void()> changed,
               const Clock& clock = SystemClock())
      : journal_(state_dir), root_(std::move(root)), changed_(std::move(changed)), clock_(clock) {}

  // Goes by the checkpoint in this directory from now on: kubelet's device-plugins.
  void Open(const std::string& device_plugins);
  // Reads what earlier agents left, once no other instance has it: kStateLocked until then.
  Status Load();
  // Whether there may be anything to be loaded.
  bool any() const { return journal_.any(); }

  // This backend prepares for the resource from now on, if it has a preparer, with the grants'
  // documents in this directory; whether they can be kept is looked at soon. Waits for nothing, as
  // the next. Another backend is kept for as long as something is left that it has prepared.
  void Serve(const config::Resource& resource, const Kind& kind, std::shared_ptr<Backend> backend,
             const std::string& cdi_dir);
  // The resource is served no more.
  void Retire(const std::string& resource);

  // A container is about to be made.
  struct Start {
    Binding binding;  // what it refers to lives until Begin returns
    std::shared_ptr<Backend> backend;
    std::vector<std::string> share_ids;
    bool undescribed = false;  // the kind has not said yet what CDI documents are to have
    Duration waited{};         // since kubelet called
    std::function<bool()> wanted;
    std::function<void(Status)> done;
  };
  // Has prepared for all grants of the resource that have exactly these ids, and their documents
  // written, when `done` is called, by any thread and once. What is prepared already is not
  // prepared again. Those of a plugin that was here before have no name, and are as they are.
  // kGrantUnknown where kubelet knows of none, kNotPrepared, kPrepareTimedOut, kNotUnprepared where
  // the devices are not back from an earlier grant, kJournalUnreadable where it is not known
  // whether they are, kStateLocked where another instance prepares.
  void Begin(Start start);

  // Refuses containers that have waited for too long, and has undone what is due. When it is to be
  // called again; nothing: after the next `changed`. Waits for nothing.
  std::optional<Steady> Tick();
  // Has undone what kubelet has forgotten.
  void RemoveForgotten();
  // What follows for devices and resources. Waits for nothing, as the next.
  struct Standing {
    // Prepared for a grant, or not back from one: a container may have them.
    std::set<DeviceKey, DeviceKeyLess> held{};
    // Those that are not back, with why; its message completes "device 7 is unhealthy: ...".
    std::map<DeviceKey, Error, DeviceKeyLess> outstanding{};
    // Resources for which nothing can be prepared, likewise.
    std::map<std::string, Error> obstacles{};
    // What only a person mends, each with what it is about.
    std::vector<Error> faults{};
    bool operator==(const Standing&) const = default;
  };
  Standing standing() const;
  // Whether anything is prepared, or to be undone.
  bool AnyLeft() const;

 private:
  struct Item {
    Preparation entry;
    bool busy = false;                  // a thread is at it: nobody else is
    std::optional<Steady> forgotten{};  // since when kubelet has not named it
    // While it is undone; `trouble`: it is outstanding.
    Backoff pauses{kFirstPause, kLastPause};
    Steady next{};  // when that is tried again; while it is: since when
    std::optional<Error> trouble{};
    bool told_unserved = false;  // that nothing undoes it
  };
  // A call of kubelet's.
  struct Call {
    Steady deadline;
    std::function<bool()> wanted;
    std::function<void(Status)> done;  // under mutex_; null: it is answered
    std::string about;                 // whose it is, for the answer
    std::atomic<bool> answered = false;
  };
  struct Job {
    std::vector<std::string> former{};  // the grants of entries that are to be undone first
    Preparation entry{};
    cdi::Edits base{};  // of the devices as they are
    std::vector<Device> devices{};
    std::shared_ptr<Backend> backend{};
    std::shared_ptr<Call> call{};
  };
  struct Served {
    std::shared_ptr<Backend> backend;
    std::string cdi_dir;
    bool ids_are_of_hardware = false;  // Kind::ids_are_of_hardware
    bool current = true;
  };
  // Whom kubelet's checkpoint names.
  struct Named {
    std::set<std::string> grants{};  // of the containers that are about to be made
    std::string pod_uid{};
    std::set<std::string> live{};  // of all containers
  };

  Result<std::shared_ptr<Job>> Claim(const Start& start);
  Result<Named> NamedFor(const Start& start);
  Status CheckReadable(const Preparation& wanted) const TESSERA_REQUIRES(mutex_);
  Result<std::vector<Item*>> InTheWay(const Start& start, const Preparation& wanted,
                                      const Named& named) TESSERA_REQUIRES(mutex_);
  std::vector<std::string> HardwareOf(const Device& device, const Preparation& entry) const;
  Status Describe(const Start& start, Job& job) const;
  Status Confirm(Preparation entry, bool is_news);
  void Run(const Job& job);
  Status UndoFormer(const Job& job);
  Status Prepare(const Job& job);
  Status Keep(const Job& job, Prepared prepared, Preparation& entry);
  bool IsWanted(const Call& call) const;
  void Answer(Call& call, Status status);
  Status PutDocuments(const Preparation& entry);
  // Of an entry that is busy by the caller.
  Status Undo(const std::string& grant);
  Status UndoBy(const Preparation& entry);
  void Retry(const std::string& grant);
  void Leave(const std::string& grant, bool gone);
  void UndoSoon(const std::string& grant, Item& item) TESSERA_REQUIRES(mutex_);
  std::shared_ptr<Backend> BackendFor(const Preparation& entry) const;
  void TellUnserved();
  void ForgetUnreadable();
  bool IsLoaded() const;

  // preparations_standing.cc
  void EndServing(const std::string& resource) TESSERA_REQUIRES(mutex_);
  bool IsServed(const Preparation& entry) const TESSERA_REQUIRES(mutex_);
  // What was written, and a look at the directories soon where it was not.
  Status Wrote(Status written);
  // Has the directories looked at if they are due; when they are, if later.
  std::optional<Steady> LookWhenDue(Steady now) TESSERA_REQUIRES(mutex_);
  void LookAtDirectories();
  void AddUnread(const UnreadPreparation& unread, Standing& standing) const
      TESSERA_REQUIRES(mutex_);

  const Journal journal_;
  const os::Root root_;
  const std::function<void()> changed_;
  const Clock& clock_;
  Mutex loading_;  // taken before mutex_, which nobody holds while waiting for a disk
  mutable Mutex mutex_;
  std::shared_ptr<CheckpointFile> checkpoint_ TESSERA_GUARDED_BY(mutex_);
  std::optional<os::FileLock> lock_ TESSERA_GUARDED_BY(mutex_);  // the journal is this instance's
  std::string boot_id_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, Item> items_ TESSERA_GUARDED_BY(mutex_);  // by their grants
  std::map<std::string, UnreadPreparation> unreadable_ TESSERA_GUARDED_BY(mutex_);
  // By the resource and the preparer's name.
  std::map<std::pair<std::string, std::string>, Served> served_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, Error> mismatched_ TESSERA_GUARDED_BY(mutex_);  // by resource, as the next
  std::map<std::string, Error> refused_ TESSERA_GUARDED_BY(mutex_);     // by the directories
  bool looking_ TESSERA_GUARDED_BY(mutex_) = false;                     // at those
  std::optional<Steady> look_again_ TESSERA_GUARDED_BY(mutex_);
  Backoff look_pauses_ TESSERA_GUARDED_BY(mutex_){kFirstPause, kLastPause};
  std::set<std::shared_ptr<Call>> calls_ TESSERA_GUARDED_BY(mutex_);
  os::Workers workers_{64};  // as many devices as may hang at once
};

}  // namespace tessera
