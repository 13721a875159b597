// SPDX-License-Identifier: Apache-2.0
// kubelet's device manager: which resources there are, which of their devices are healthy, free and
// held, and which plugin answers for them. Pure bookkeeping: no wire, no files, no clock of its
// own, no lock (its owner guards it).
#pragma once

#include <memory>
#include <optional>
#include <random>

#include "base/clock.h"
#include "sim/kubelet/embedded.h"
#include "sim/kubelet/endpoint.h"
#include "sim/kubelet/pod_devices.h"

namespace tessera::kubelet::embedded {

class DeviceManager {
 public:
  // A plugin that answers, or answered, for a resource.
  struct Plugin {
    std::shared_ptr<Endpoint> endpoint;    // nullptr: known from the checkpoint only
    std::string path;                      // of its socket
    std::optional<PluginOptions> options;  // nothing before the first registration of this start
    std::optional<Steady> stopped;         // when its stream ended
  };

  // The devices being found for one claim, between Begin and Complete.
  struct Selection {
    Ids chosen;                 // already: those of earlier init containers
    Ids available;              // free and healthy
    int needed = 0;             // still
    bool empty_handed = false;  // nothing is to be allocated
  };

  DeviceManager(ConnectionRules rules, Duration grace, uint64_t seed);

  // ---- plugins
  // A plugin has connected and told its options. Fails under kFrom137 when that path is connected.
  Status Attach(const std::string& resource, Plugin plugin);
  // A plugin's connection has ended. True when its devices became unhealthy by that.
  bool Detach(const std::string& resource, const std::string& path, Steady now);
  void SetDevices(const std::string& resource, std::vector<ListedDevice> devices);
  // Deletes resources whose plugin stopped longer than the grace ago; true when there were any.
  bool DeleteExpired(Steady now);
  // When DeleteExpired will next find one.
  std::optional<Steady> NextExpiry() const;
  // The plugin to ask; nullptr when the resource is unknown.
  const Plugin* PluginOf(const std::string& resource) const;

  // ---- allocation, in kubelet's order
  // Whether the resource is a plugin's, now or formerly with devices still held.
  bool Handles(const std::string& resource) const;
  // Checks the claim and takes `reusable` devices first; the errors are kubelet's.
  Result<Selection> Begin(const Claim& claim, int required, const Ids& reusable);
  // Fills the selection up: preferred ones first, then any, at random.
  Status Complete(const Claim& claim, int required, Selection& selection, const Ids& preferred);
  // Allocate has answered.
  void Keep(const Claim& claim, const Ids& ids, std::string response);
  // Allocate has failed: only what is kept stays in use.
  void ReleaseUnkept();
  // Frees what pods other than `active` hold; in kubelet this happens at the next admission.
  void CollectGarbage(const Ids& active);
  std::vector<std::string> InRandomOrder(const Ids& ids);

  // ---- what there is
  const PodDevices& pod_devices() const { return pod_devices_; }
  // Natural order; the holders are left empty.
  std::vector<ResourceStatus> Resources() const;
  // The healthy devices of every resource, held or not.
  std::vector<std::pair<std::string, ListedDevice>> Allocatable() const;
  // nothing when the node never had the resource.
  std::optional<int> AllocatableCount(const std::string& resource) const;

  // ---- the checkpoint
  Checkpoint Save() const;
  void Restore(const Checkpoint& checkpoint, Steady now);

 private:
  struct Resource {
    Plugin current;
    std::map<std::string, Plugin> connected;  // by socket path; kFrom137 only
  };
  struct Devices {
    Ids healthy;
    Ids unhealthy;  // an id listed twice can be in both, as in kubelet
  };

  void MarkUnhealthy(const std::string& resource);
  void Take(const std::string& resource, const Ids& from, Selection& selection);

  const ConnectionRules rules_;
  const Duration grace_;
  std::mt19937_64 random_;
  std::map<std::string, Resource> plugins_;
  std::map<std::string, Devices> devices_;                             // what node status counts
  std::map<std::string, std::map<std::string, ListedDevice>> listed_;  // last list of each resource
  std::map<std::string, Ids> in_use_;
  std::set<std::string> reported_;  // resources that node status has ever named
  PodDevices pod_devices_;
};

}  // namespace tessera::kubelet::embedded
