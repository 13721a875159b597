// SPDX-License-Identifier: Apache-2.0
// The scheduler's state: the devices of all nodes, the pods' allocations, and holds for pods that
// are not bound yet. The API server is the source of everything but the holds. Annotations of
// unbound pods never count.
// No I/O. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hami/vendor.h"
#include "kube/objects/binding.h"
#include "kube/objects/cluster_node.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_quota.h"
#include "placement/agent_mark.h"
#include "placement/device_choice.h"
#include "scheduler/explanation.h"
#include "scheduler/extender.h"
#include "scheduler/node_choice.h"
#include "scheduler/node_facts.h"
#include "scheduler/node_summaries.h"
#include "scheduler/quotas.h"
#include "scheduler/refusals.h"
#include "scheduler/vendors.h"

namespace tessera::scheduler {

class Cluster {
 public:
  // Objects that the vendors refer to outlive the cluster. `policies` apply where a pod sets none.
  Cluster(std::vector<hami::ServedVendor> vendors, Policies policies);

  // The parts of pods and nodes that the cluster reads.
  const kube::PodFields& PodFields() const { return vendors_.pod_fields(); }
  const kube::ClusterNodeFields& NodeFields() const { return vendors_.node_fields(); }

  void PutNode(const kube::ClusterNode& node);
  void RemoveNode(const std::string& name);
  void PutPod(const kube::PodPtr& pod);
  void RemovePod(const std::string& uid);
  Quotas& quotas() { return quotas_; }
  const Quotas& quotas() const { return quotas_; }

  // Chooses the best node and holds room there; an earlier hold of the pod is dropped. If
  // kube-scheduler makes the choice (node_choice.h), the next best nodes follow, without a hold. If
  // no node fits, the answer has a reason for each node. A pod that requests none of our resources
  // gets all nodes. A simulated call holds no room.
  FilterAnswer Filter(const FilterCall& call, Steady now);
  // A score for each node that Filter returned; 0 for any other node.
  NodeScores Prioritize(const FilterCall& call) const;
  // The nodes where evicting the victims makes room for the pod. Kube-scheduler does not know which
  // devices the victims hold.
  VictimsByNode Preempt(const PreemptCall& call) const;
  // The Binding of the pod to this node, from the hold there. Without a usable hold the pod is
  // placed again, and the new placement is held. A hold becomes unusable when another scheduler
  // binds a pod into its room.
  // Gives kNoRoom if the node has no room, kNotFound if no such pod waits, kApiConflict if the pod
  // may already be bound to another node.
  Result<kube::Binding> PlaceOn(const BindCall& call, Steady now, Wall wall);
  // Whether the node's device plugin finds the pod by HAMi's node lock. An agent that binds late
  // does not need it. The pod with this UID has a hold on the node.
  bool NeedsLock(const std::string& uid, const std::string& node) const;
  bool IsHeld(const std::string& uid, const std::string& node) const;
  // Marks the hold: a Binding was sent. Filter returns the same node until the outcome is known, so
  // the pod is never placed twice.
  void BindingSent(const std::string& uid);
  bool IsSent(const std::string& uid) const;
  // Only for a pod that is certainly not bound.
  void DropHold(const std::string& uid);
  // Drops holds older than `then`: pods that were never meant to be bound, such as those of a
  // simulated group. A pod that waits longer for its volumes is placed again at bind time.
  void DropHoldsBefore(Steady then);
  // Refused pods that fit a node now (refusals.h).
  std::vector<kube::PodPtr> ToWake(Steady now);
  bool MayWake() const { return refusals_.pending(); }
  // Why the pod "NAMESPACE/NAME" waits at `now`.
  Explanation Explain(const std::string& pod, Steady now) const;
  // The cluster facts by which the webhook judges new pods.
  std::shared_ptr<const webhook::ClusterFacts> Facts() { return facts_.All(); }
  size_t holds() const { return holds_.size(); }
  size_t refused() const { return refusals_.size(); }
  // A node's devices, and each pod's allocations and holds there. Pods are named "NAMESPACE/NAME".
  std::vector<std::string> NodeNames() const;
  void EachDevice(const std::string& node,
                  const std::function<void(const CandidateDevice&)>& each) const;
  using Taken = std::function<void(std::string_view pod, const std::string& device,
                                   const DeviceUsage& usage)>;
  void EachTaken(const std::string& node, const Taken& each) const;
  // Nodes with a registration or with pods' allocations.
  size_t nodes() const { return nodes_.size(); }

 private:
  struct NodeState {
    std::vector<CandidateDevice> devices;        // grouped by kind (Vendors)
    std::map<std::string, UsageByDevice> taken;  // by the pod's UID
    bool unreadable = false;                     // the registration annotation
    int64_t whole = 0;                           // devices (whole_devices.h)
    AgentMark agent{};                           // default: the node has no agent of ours
    // UIDs of pods whose allocations cannot be read.
    std::set<std::string> unread;
  };
  // Hashes any string type, so lookups need no copy of the key.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Hold {
    std::string node;
    PodPlacement placement;
    Steady since{};
    uint8_t kind = 0;     // of the devices
    std::string mode{};   // mode that the pod requests
    NodeScores scores{};  // of the nodes in Filter's answer
    bool sent = false;    // a Binding was sent; the pod may be bound
  };
  // A pod with an allocation or a hold.
  struct Taker {
    std::string node;
    std::string pod;  // "NAMESPACE/NAME"
  };
  // The pod's placement on a node, or the reason why it does not fit.
  using Fit = tl::expected<PodPlacement, Misfit>;

  Result<DeviceDemand> DemandOf(const kube::Pod& pod) const {
    return vendors_.DemandOf(pod, policies_);
  }
  NodePolicy NodePolicyOf(const kube::Pod& pod) const;
  // Null if the node has no registration and no pods.
  const NodeState* FindNode(std::string_view name) const;
  static FilterAnswer AnswerOfSent(const Hold& hold, const std::vector<std::string_view>& names);
  // The answer for a pod that fits no node.
  FilterAnswer RefusalBy(const FilterCall& call, const DeviceDemand& demand) const;
  void KeepRefusal(const FilterCall& call, const DeviceDemand& demand, FilterAnswer& answer,
                   Steady now);
  // The node's devices of one kind.
  static std::span<const CandidateDevice> DevicesOf(const NodeState& node, uint8_t kind);
  Fit FitOn(const NodeState* node, const DeviceDemand& demand) const;
  // Also checks the quotas of the pod's namespace.
  Fit FitOn(const NodeState* node, const DeviceDemand& demand, const kube::Pod& pod) const;
  // Whether the held room is still free despite allocations by others since.
  bool HasRoom(const Hold& hold) const;
  void HoldFor(const kube::Pod& pod, const std::string& node, PodPlacement placement,
               const DeviceDemand& demand, Steady now);
  void Take(const kube::Pod& pod, const std::string& node, TakenDevices taken);
  // For a bound pod.
  void CountQuota(const kube::Pod& pod, const TakenDevices& taken);
  // Whether the pod's recorded allocation equals `usage`.
  bool Has(const kube::Pod& pod, const UsageByDevice& usage) const;
  void Release(const std::string& uid);
  // Erases the node if it has neither a registration nor pods.
  void ForgetEmpty(const std::string& name);
  static NodeSummary Recount(NodeState& node);
  // The waiting pod with this name, or null.
  kube::PodPtr FindWaiting(const std::string& pod) const;
  void ExplainNodes(const kube::Pod& pod, Explanation& explanation) const;
  // The node's state after these pods have ended.
  static NodeState Without(const NodeState& node, const std::vector<std::string>& uids);
  // Pods that must end before the pod fits. Empty if no set of pods suffices.
  std::vector<std::string> BlockersOn(const NodeState& node, const DeviceDemand& demand) const;

  const Vendors vendors_;
  const Policies policies_;
  std::unordered_map<std::string, NodeState, TextHash, std::equal_to<>> nodes_;
  // One per entry of `nodes_`.
  NodeSummaries summaries_;
  std::unordered_map<std::string, Taker> takers_;  // by UID: tens of thousands
  std::map<std::string, kube::PodPtr> waiting_;    // by UID: not bound yet
  std::map<std::string, Hold> holds_;              // by UID
  NodeFacts facts_;
  Quotas quotas_;
  Refusals refusals_;
};

}  // namespace tessera::scheduler
