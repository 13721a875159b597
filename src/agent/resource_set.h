// SPDX-License-Identifier: Apache-2.0
// All served resources: each configured one, and for each family one per profile found. A family's
// resource begins with the scan that finds its profile, or at the start if its devices are known.
// It ends when no scan finds the profile, its last device has left, and no container holds one. So
// a node never has a family's resource without devices. Owned by the agent. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/served_resource.h"
#include "discovery/family.h"
#include "fraction/grant_keeper.h"

namespace tessera::agent {

// The configured resource of that name, or the one that the first matching family makes.
std::optional<config::Resource> ResourceNamed(const config::Config& config,
                                              const std::string& name);

class ResourceSet {
 public:
  // `changed`: resources were added or ended. `grants` outlives it.
  ResourceSet(ServedResource::Surroundings at, GrantKeeper& grants, std::function<void()> changed);

  // Starts to serve the configuration's resources at this kubelet.
  void Open(const config::Config& config, kubelet::RegistrationPath path,
            const kubelet::Directories& directories);
  void Close();
  // Adopts another configuration: adds, changes and removes resources, and leaves the others alone.
  void Apply(const config::Config& config);

  const ServedResources& served() const { return served_; }
  // Resources whose holders the ledger tracks: the served ones, and retired ones that may be held.
  std::set<std::string> TrackedResources() const;
  ServedResource* Find(const std::string& name) const;  // null: no such resource is served
  // Adds resources for profiles that the families found, and ends those whose profiles are gone.
  void SettleFamilies();
  void RescanSoon();
  // Tells all backends that a person reported a reset.
  void LearnReset(const Device& device);
  // Makes all backends close their vendors' libraries, with this error for their devices; nothing:
  // opens them again. Also applies to backends that are made later.
  void SetReleased(std::optional<Error> released);
  // The resources and families whose library is closed by that order.
  std::vector<std::string> Released() const;
  // Users that keep libraries open all the same.
  std::vector<std::string> ReleaseHeldBy() const;
  // kubelet's directories may have changed.
  void PollKubelet();
  // Takes the healthy ids that kubelet can grant, by resource. False if kubelet may have lost us.
  bool Compare(const std::map<std::string, int>& allocatable);
  // Makes kubelet rewrite its checkpoint, by sending it a list again. The checkpoint may still name
  // pods that ended, and only a new one tells them from init containers. Called after kubelet has
  // answered, which made it forget such pods. True if it sent a list: once, and then at most once a
  // minute while devices, containers or preparations wait for holders to end.
  bool RefreshCheckpoint();
  // Ends retired resources after kubelet's answer. Devices without holders leave once kubelet can
  // grant no id of the resource. `sure` is false until then: another instance may still serve it.
  struct RetiredEnd {
    std::vector<Changes> changes{};
    bool sure = true;
  };
  RetiredEnd EndRetired(const std::map<std::string, int>& allocatable);

  // Resources whose grants are late grants.
  std::set<std::string> BoundLate() const;

  bool AnyStreaming() const;
  bool AllStreaming() const;
  // True if every resource that needs CDI documents has made them from a scan of this process.
  bool AllDescribed() const;
  // True while a held device waits to take the configured policy.
  bool AnyWaitsForHolders() const;
  std::set<std::string> SocketPaths() const;
  // True if every resource is scanned and checked on this boot, or cannot be served.
  bool Ready() const;
  // Why resources are not served; one line each.
  std::string NotReady() const;

 private:
  void Add(const config::Resource& resource);
  ServedResources::iterator Remove(ServedResources::iterator at);
  void AddHeld();
  void AddKnown();
  void SetFamilies();
  bool AddMembers(const std::set<std::string>& found);
  bool EndMembers(const std::set<std::string>& found);
  bool MayEnd(const std::string& name) const;
  bool IsConfigured(const std::string& name) const;

  const ServedResource::Surroundings at_;
  GrantKeeper& grants_;
  const std::function<void()> changed_;
  config::Config config_;
  kubelet::RegistrationPath path_ = kubelet::RegistrationPath::kKubeletSocket;
  kubelet::Directories directories_;
  ServedResources served_;
  std::vector<std::unique_ptr<Family>> families_;
  std::optional<Error> released_;
  std::optional<Steady> refreshed_;  // when kubelet was last made to write its checkpoint
  std::set<std::string> told_;  // logged names that a family found but a configured resource has
};

}  // namespace tessera::agent
