// SPDX-License-Identifier: Apache-2.0
// All that is served: one resource for each that is configured, and of each family one for each
// profile found. A family's resource comes with the scan that finds its profile, or at the start
// from what is known of before; it ends once no scan finds the profile and its last device has
// left, which is when nobody holds it. So a node never has a resource that there is nothing of.
// One thread: the loop's.
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

// The resource of that name by this configuration: one that is configured, or the one that the
// first family which may have it makes of it.
std::optional<config::Resource> ResourceNamed(const config::Config& config,
                                              const std::string& name);

class ResourceSet {
 public:
  // `changed`: resources came or went. `grants` outlives it.
  ResourceSet(ServedResource::Surroundings at, GrantKeeper& grants, std::function<void()> changed);

  // Serves those of the configuration at this kubelet, all anew.
  void Open(const config::Config& config, kubelet::RegistrationPath path,
            const kubelet::Directories& directories);
  void Close();
  // Another configuration: resources added, changed and removed, the others untouched.
  void Apply(const config::Config& config);

  const ServedResources& served() const { return served_; }
  // Whose holders are to be known: those, and those that are served no more but may be held.
  std::set<std::string> TrackedResources() const;
  ServedResource* Find(const std::string& name) const;  // none is served by that name
  // What the families find is served, and what they do not find any more ends.
  void SettleFamilies();
  void RescanSoon();
  // All backends are to let go of their vendors' libraries, with this to be said of their devices;
  // nothing: to take them up again. Holds for those that come later, too.
  void SetReleased(std::optional<Error> released);
  // The resources and families whose backends hold none now, by that order.
  std::vector<std::string> Released() const;
  // What keeps libraries open all the same.
  std::vector<std::string> ReleaseHeldBy() const;
  // kubelet's directories changed.
  void PollKubelet();
  // What kubelet says that it can hand out of each resource; false when that raises a doubt.
  bool Compare(const std::map<std::string, int>& allocatable);
  // Kubelet has answered who holds what, and so has forgotten the pods that ended. While its
  // checkpoint may still name some, which nothing else tells from init containers, makes it write
  // that anew, as it does at any list. Whether it did: at first, and then while devices wait, or
  // containers for room, or anything is prepared for one, once a minute.
  bool RefreshCheckpoint();
  // Holders are known anew. Of a resource that is no longer configured, what nobody holds leaves
  // once kubelet can hand out none of it. Not `sure`: until then another instance may still serve
  // it.
  struct RetiredEnd {
    std::vector<Changes> changes{};
    bool sure = true;
  };
  RetiredEnd EndRetired(const std::map<std::string, int>& allocatable);

  // The resources whose grants are bound late.
  std::set<std::string> BoundLate() const;

  bool AnyStreaming() const;
  bool AllStreaming() const;
  // All that need CDI documents have given them since their devices were first found.
  bool AllDescribed() const;
  // A device waits for the configured policy until nobody holds it.
  bool AnyWaitsForHolders() const;
  std::set<std::string> SocketPaths() const;
  // Everything has been looked for and checked on this boot, or cannot be served.
  bool Ready() const;
  // Why not all is served, a line each.
  std::string NotReady() const;

 private:
  void Add(const config::Resource& resource);
  ServedResources::iterator Remove(ServedResources::iterator at);
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
  std::set<std::string> told_;  // names that a family finds and another resource has, as logged
};

}  // namespace tessera::agent
