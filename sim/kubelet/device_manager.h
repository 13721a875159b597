// SPDX-License-Identifier: Apache-2.0
// kubelet's device manager. It knows the resources, their healthy, free and held devices, and their
// plugins. Pure bookkeeping: no wire, no files, no clock and no lock. Its owner guards it.
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
  // A resource's plugin, also one that has stopped.
  struct Plugin {
    std::shared_ptr<Endpoint> endpoint;    // nullptr: known from the checkpoint only
    std::string path;                      // of the plugin's socket
    std::optional<PluginOptions> options;  // null before the first registration of this start
    std::optional<Steady> stopped;         // the end of its stream
  };

  // The devices for one claim, between Begin and Complete.
  struct Selection {
    Ids chosen;                 // including those of earlier init containers
    Ids available;              // free and healthy
    int needed = 0;             // still to be chosen
    bool empty_handed = false;  // no device is to be allocated
  };

  DeviceManager(ConnectionRules rules, Duration grace, uint64_t seed);

  // ---- plugins
  // A plugin has connected and sent its options. Fails under kFrom137 if that path is connected.
  Status Attach(const std::string& resource, Plugin plugin);
  // A plugin's connection has ended. True: its devices became unhealthy.
  bool Detach(const std::string& resource, const std::string& path, Steady now);
  void SetDevices(const std::string& resource, std::vector<ListedDevice> devices);
  // Deletes resources whose plugin stopped longer than the grace ago. True: there were any.
  bool DeleteExpired(Steady now);
  // The time of the next expiry for DeleteExpired.
  std::optional<Steady> NextExpiry() const;
  // The plugin that answers for the resource; nullptr: unknown resource.
  const Plugin* PluginOf(const std::string& resource) const;

  // ---- allocation, in kubelet's order
  // Whether a plugin has the resource, or had it and containers hold devices.
  bool Handles(const std::string& resource) const;
  // Checks the claim, then takes `reusable` devices first. The errors are kubelet's.
  Result<Selection> Begin(const Claim& claim, int required, const Ids& reusable);
  // Fills the selection: preferred devices first, then random ones.
  Status Complete(const Claim& claim, int required, Selection& selection, const Ids& preferred);
  // Stores Allocate's answer.
  void Keep(const Claim& claim, const Ids& ids, std::string response);
  // After a failed Allocate: only stored devices stay in use.
  void ReleaseUnkept();
  // Frees the devices of pods outside `active`. kubelet does so at the next admission.
  void CollectGarbage(const Ids& active);
  std::vector<std::string> InRandomOrder(const Ids& ids);

  // ---- what there is
  const PodDevices& pod_devices() const { return pod_devices_; }
  // In natural order, without holders.
  std::vector<ResourceStatus> Resources() const;
  // The healthy devices of every resource, held ones too.
  std::vector<std::pair<std::string, ListedDevice>> Allocatable() const;
  // Null: the node never had the resource.
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
    Ids unhealthy;  // a duplicate id can be in both, as in kubelet
  };

  void MarkUnhealthy(const std::string& resource);
  void Take(const std::string& resource, const Ids& from, Selection& selection);

  const ConnectionRules rules_;
  const Duration grace_;
  std::mt19937_64 random_;
  std::map<std::string, Resource> plugins_;
  std::map<std::string, Devices> devices_;  // counted by node status
  std::map<std::string, std::map<std::string, ListedDevice>>
      listed_;  // the last list of each resource
  std::map<std::string, Ids> in_use_;
  std::set<std::string> reported_;  // every resource that node status has named
  PodDevices pod_devices_;
};

}  // namespace tessera::kubelet::embedded
