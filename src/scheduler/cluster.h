// SPDX-License-Identifier: Apache-2.0
// What the scheduler knows: the devices of all nodes, what pods have of them, and the room that it
// holds for pods that are not bound yet. All but the holds is what the API server has: annotations
// of pods that are not bound never count. No I/O; one thread.
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
  // What the vendors refer to outlives it. `policies` hold where a pod says nothing else.
  Cluster(std::vector<hami::ServedVendor> vendors, Policies policies);

  // What of pods and nodes it reads.
  const kube::PodFields& PodFields() const { return vendors_.pod_fields(); }
  const kube::ClusterNodeFields& NodeFields() const { return vendors_.node_fields(); }

  void PutNode(const kube::ClusterNode& node);
  void RemoveNode(const std::string& name);
  void PutPod(const kube::PodPtr& pod);
  void RemovePod(const std::string& uid);
  Quotas& quotas() { return quotas_; }
  const Quotas& quotas() const { return quotas_; }

  // The best of the nodes, on which room is held from then on; a former hold of the pod goes. Where
  // kube-scheduler is to choose (node_choice.h), the next best follow, without a hold. Where there
  // is none, each says why. A pod that asks for nothing of ours gets all nodes, and a simulated
  // call holds nothing.
  FilterAnswer Filter(const FilterCall& call, Steady now);
  // How good each of the nodes is, of those that Filter answered; 0: another one.
  NodeScores Prioritize(const FilterCall& call) const;
  // The nodes on which it helps the pod that the victims end. Kube-scheduler does not know what
  // they have of the devices.
  VictimsByNode Preempt(const PreemptCall& call) const;
  // How the pod is bound to this node: by what is held for it there, or by what it would get now,
  // which is held from then on: nothing was held, or somebody else has bound a pod to it since.
  // kNoRoom where there is no room, kNotFound where there is no such pod that waits.
  Result<kube::Binding> PlaceOn(const BindCall& call, Steady now, Wall wall);
  // Whether the plugin of the node, which is none of ours that binds late, finds the pod by HAMi's
  // lock. The pod, by its UID, has room held there.
  bool NeedsLock(const std::string& uid, const std::string& node) const;
  bool IsHeld(const std::string& uid, const std::string& node) const;
  // A Binding is on its way, by what is held: whoever filters the pod again gets the same until it
  // is known what became of that.
  void BindingSent(const std::string& uid);
  bool IsSent(const std::string& uid) const;
  // What is held for the pod goes: it was not bound, and that is certain.
  void DropHold(const std::string& uid);
  // Holds that nobody has asked for in a while: of a pod that was never to be bound, such as one of
  // a simulated group. A pod whose volumes take longer is placed anew when it is bound.
  void DropHoldsBefore(Steady then);
  // Refused pods that a node can have by now and that nobody has tried since: see Refusals.
  std::vector<kube::PodPtr> ToWake(Steady now);
  bool MayWake() const { return refusals_.pending(); }
  // Why the pod "NAMESPACE/NAME" waits, as of now.
  Explanation Explain(const std::string& pod, Steady now) const;
  // What a new pod is judged by.
  std::shared_ptr<const webhook::ClusterFacts> Facts() { return facts_.All(); }
  size_t holds() const { return holds_.size(); }
  size_t refused() const { return refusals_.size(); }
  // What a node's devices are, and what pods, "NAMESPACE/NAME", have of each or have held.
  std::vector<std::string> NodeNames() const;
  void EachDevice(const std::string& node,
                  const std::function<void(const CandidateDevice&)>& each) const;
  using Taken = std::function<void(std::string_view pod, const std::string& device,
                                   const DeviceUsage& usage)>;
  void EachTaken(const std::string& node, const Taken& each) const;
  // Those of which something counts: their registration, or what pods have there.
  size_t nodes() const { return nodes_.size(); }

 private:
  struct NodeState {
    std::vector<CandidateDevice> devices;        // those of a kind together (Vendors)
    std::map<std::string, UsageByDevice> taken;  // by the pod's UID
    bool unreadable = false;                     // its registration
    int64_t whole = 0;                           // devices (whole_devices.h)
    AgentMark agent{};                           // none: another's plugin
    std::set<std::string> unread;  // UIDs of pods of which nobody knows what they have
  };
  // Of the keys, as texts of any type.
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Hold {
    std::string node;
    PodPlacement placement;
    Steady since{};
    uint8_t kind = 0;     // of the devices
    std::string mode{};   // that the pod wants them in
    NodeScores scores{};  // of the nodes that kube-scheduler chooses from
    bool sent = false;    // a Binding: the pod may be bound
  };
  // Who has something, or has room held.
  struct Taker {
    std::string node;
    std::string pod;  // "NAMESPACE/NAME"
  };
  // What the pod gets on a node, or why it is not that one's.
  using Fit = tl::expected<PodPlacement, Misfit>;

  Result<DeviceDemand> DemandOf(const kube::Pod& pod) const {
    return vendors_.DemandOf(pod, policies_);
  }
  NodePolicy NodePolicyOf(const kube::Pod& pod) const;
  // Null: it has registered nothing.
  const NodeState* FindNode(std::string_view name) const;
  static FilterAnswer AnswerOfSent(const Hold& hold, const std::vector<std::string_view>& names);
  // Of a pod that none of the nodes can have.
  FilterAnswer RefusalBy(const FilterCall& call, const DeviceDemand& demand) const;
  void KeepRefusal(const FilterCall& call, FilterAnswer& answer, Steady now);
  // Those of a kind.
  static std::span<const CandidateDevice> DevicesOf(const NodeState& node, uint8_t kind);
  Fit FitOn(const NodeState* node, const DeviceDemand& demand) const;
  // The same, and the quotas of its namespace allow it.
  Fit FitOn(const NodeState* node, const DeviceDemand& demand, const kube::Pod& pod) const;
  // Whether what is held is free beside what others have by now.
  bool HasRoom(const Hold& hold) const;
  void HoldFor(const kube::Pod& pod, const std::string& node, PodPlacement placement,
               const DeviceDemand& demand, Steady now);
  void Take(const kube::Pod& pod, const std::string& node, TakenDevices taken);
  // Of a pod that is bound.
  void CountQuota(const kube::Pod& pod, const TakenDevices& taken);
  // Whether it is what the pod is known to have.
  bool Has(const kube::Pod& pod, const UsageByDevice& usage) const;
  void Release(const std::string& uid);
  // Of which nothing is known that counts, as of one that is gone with its pods.
  void ForgetEmpty(const std::string& name);
  static NodeSummary Recount(NodeState& node);
  // The pod that waits; null where there is none of this name.
  kube::PodPtr FindWaiting(const std::string& pod) const;
  void ExplainNodes(const kube::Pod& pod, Explanation& explanation) const;
  // Of a node as it is once these pods are gone.
  static NodeState Without(const NodeState& node, const std::vector<std::string>& uids);
  // Pods without which the node could have it; none where that is not known.
  std::vector<std::string> BlockersOn(const NodeState& node, const DeviceDemand& demand) const;

  const Vendors vendors_;
  const Policies policies_;
  std::unordered_map<std::string, NodeState, TextHash, std::equal_to<>> nodes_;
  NodeSummaries summaries_;                        // of the same
  std::unordered_map<std::string, Taker> takers_;  // by UID: tens of thousands
  std::map<std::string, kube::PodPtr> waiting_;    // by UID: not bound yet
  std::map<std::string, Hold> holds_;              // by UID
  NodeFacts facts_;
  Quotas quotas_;
  Refusals refusals_;
};

}  // namespace tessera::scheduler
