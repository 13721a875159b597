// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cluster.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/quote.h"
#include "base/text.h"
#include "hami/names.h"
#include "hami/vendor_annotations.h"
#include "scheduler/whole_devices.h"

namespace tessera::scheduler {
namespace {

constexpr Misfit kUnregistered{"the node has registered no devices", false};
constexpr Misfit kUnreadable{"the node's device registration cannot be read", false};
constexpr Misfit kWholeAlone{"the node offers only whole devices, without a choice", false};
constexpr Misfit kUncounted{
    "a ResourceQuota counts memory or compute time, unknown for the node's whole devices", false};
constexpr Misfit kUnread{"the devices of a pod on the node cannot be read", true};

// A device with less free memory cannot fit all containers of the pod.
int64_t LeastFree(const DeviceDemand& demand) {
  int64_t least = 0;
  for (const AskingContainer& container : demand.containers) {
    least = std::max<int64_t>(least, container.request.memory);
  }
  return least;
}

}  // namespace

Cluster::Cluster(std::vector<hami::ServedVendor> vendors, Policies policies)
    : vendors_(std::move(vendors)),
      policies_(std::move(policies)),
      quotas_(vendors_.with_agent() == nullptr ? RequestRules() : vendors_.with_agent()->rules) {}

void Cluster::PutNode(const kube::ClusterNode& node) {
  NodeState& state = nodes_[node.name];
  state.unreadable = !node.excess.empty();
  auto devices = vendors_.DevicesOf(node);
  if (!devices) {
    state.unreadable = true;
    log::Warn("a node's devices cannot be read: it gets no pods", devices.error(),
              {{"node", node.name}});
  }
  state.devices = std::move(devices).value_or(std::vector<CandidateDevice>());
  const auto mark = node.annotations.find(kAgentMark);
  state.agent = mark == node.annotations.end() ? AgentMark() : ReadAgentMark(mark->second);
  state.whole = vendors_.WholeDevicesOn(node);
  facts_.Put(node.name, state.devices, state.whole, state.agent);
  summaries_.Put(node.name, Recount(state));
  refusals_.Changed(node.name);
}

void Cluster::RemoveNode(const std::string& name) {
  facts_.Remove(name);
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  // Its pods keep their allocations, which count again when the node returns.
  node->second.devices.clear();
  node->second.unreadable = false;
  node->second.whole = 0;
  node->second.agent = {};
  summaries_.Put(name, Recount(node->second));
  ForgetEmpty(node->first);
}

void Cluster::PutPod(const kube::PodPtr& pod) {
  if (pod->node.empty()) {
    if (!pod->HasEnded()) waiting_[pod->uid] = pod;
    return;
  }
  waiting_.erase(pod->uid);
  refusals_.Erase(pod->uid);
  // A bound pod's annotations replace its hold.
  const bool held = holds_.erase(pod->uid) > 0;
  if (pod->HasEnded()) return Release(pod->uid);
  auto taken = vendors_.TakenBy(*pod);
  if (!taken) return Release(pod->uid);
  // Kubelet updates pods constantly. An unchanged allocation must not count as a change of the
  // node.
  if (*taken && !held && Has(*pod, (*taken)->usage)) return CountQuota(*pod, **taken);
  const NodeState* known = FindNode(pod->node);
  const bool told = known != nullptr && known->unread.contains(pod->uid);
  Release(pod->uid);
  if (*taken) return Take(*pod, pod->node, **std::move(taken));
  if (!told) {
    log::Warn("a pod's devices cannot be read: its node gets no pods until the pod has ended",
              taken->error(), {{"pod", pod->FullName()}, {"node", pod->node}});
  }
  nodes_[pod->node].unread.insert(pod->uid);
  takers_[pod->uid] = {pod->node, pod->FullName()};
}

void Cluster::RemovePod(const std::string& uid) {
  waiting_.erase(uid);
  refusals_.Erase(uid);
  holds_.erase(uid);
  Release(uid);
}

bool Cluster::Has(const kube::Pod& pod, const UsageByDevice& usage) const {
  const NodeState* node = FindNode(pod.node);
  if (node == nullptr) return false;
  const auto taken = node->taken.find(pod.uid);
  return taken != node->taken.end() && taken->second == usage;
}

FilterAnswer Cluster::Filter(const FilterCall& call, Steady now) {
  const auto demand = DemandOf(call.pod);
  if (!demand) {
    FilterAnswer answer;
    for (const std::string_view node : call.nodes)
      answer.unresolvable[std::string(node)] = demand.error().message;
    return answer;
  }
  if (demand->containers.empty()) return {.nodes = {call.nodes.begin(), call.nodes.end()}};
  if (const auto hold = holds_.find(call.pod.uid); hold != holds_.end() && !call.simulated) {
    if (hold->second.sent) return AnswerOfSent(hold->second, call.nodes);
    DropHold(call.pod.uid);
  }
  const int64_t least = LeastFree(*demand);
  const uint32_t kind = NodeSummary::BitOf(demand->kind);
  NodeChoice choice(NodePolicyOf(call.pod), ChoicesOf(call.pod));
  PodPlacement placement;  // on the best
  for (const std::string_view name : call.nodes) {
    // A call may list thousands of nodes. Only nodes that would improve the choice and may have
    // room are examined.
    const NodeSummary* node = summaries_.Find(name);
    if (node == nullptr || (node->kinds & kind) == 0 || node->most_free < least) continue;
    if (!choice.Wants(name, node->fullness)) continue;
    Fit fit = FitOn(FindNode(name), *demand, call.pod);
    if (fit && choice.Add(name, node->fullness)) placement = *std::move(fit);
  }
  if (choice.empty()) {
    FilterAnswer refusal = RefusalBy(call, *demand);
    if (!call.simulated) KeepRefusal(call, *demand, refusal, now);
    return refusal;
  }
  FilterAnswer answer{.nodes = choice.Names()};
  if (call.simulated) return answer;
  refusals_.Erase(call.pod.uid);
  HoldFor(call.pod, answer.nodes.front(), std::move(placement), *demand, now);
  holds_[call.pod.uid].scores = choice.Scores();
  return answer;
}

NodeScores Cluster::Prioritize(const FilterCall& call) const {
  NodeScores scores;
  const auto hold = holds_.find(call.pod.uid);
  for (const std::string_view name : call.nodes) {
    int64_t& score = scores[std::string(name)];
    if (hold == holds_.end()) continue;
    const auto at = hold->second.scores.find(name);
    if (at != hold->second.scores.end()) score = at->second;
  }
  return scores;
}

// The pod may already be bound. Binding it again to the same node is safe; to another node it is
// not.
FilterAnswer Cluster::AnswerOfSent(const Hold& hold, const std::vector<std::string_view>& names) {
  if (std::ranges::find(names, hold.node) != names.end()) return {.nodes = {hold.node}};
  return {.error =
              "the pod may be bound to node " + hold.node + ", which is not among the candidates"};
}

FilterAnswer Cluster::RefusalBy(const FilterCall& call, const DeviceDemand& demand) const {
  FilterAnswer answer;
  for (const std::string_view name : call.nodes) {
    const Fit fit = FitOn(FindNode(name), demand, call.pod);
    if (!fit)
      (fit.error().passes ? answer.failed : answer.unresolvable).emplace(name, fit.error().why);
  }
  return answer;
}

void Cluster::KeepRefusal(const FilterCall& call, const DeviceDemand& demand, FilterAnswer& answer,
                          Steady now) {
  RefusalGroups groups;
  for (const auto* nodes : {&answer.failed, &answer.unresolvable}) {
    for (const auto& [node, why] : *nodes) groups[why].Add(node);
  }
  std::string text = TextOf(groups);
  const bool news = refusals_.Put(std::make_shared<const kube::Pod>(call.pod), demand,
                                  {call.nodes.begin(), call.nodes.end()}, std::move(groups), now);
  if (news) answer.news = std::move(text);
}

std::vector<kube::PodPtr> Cluster::ToWake(Steady now) {
  return refusals_.ToWake(now, [this](const Refusal& refusal, const std::string& node) {
    return FitOn(FindNode(node), refusal.demand, *refusal.pod).has_value();
  });
}

Result<kube::Binding> Cluster::PlaceOn(const BindCall& call, Steady now, Wall wall) {
  auto hold = holds_.find(call.uid);
  // Kube-scheduler may bind to another node than the held one, and another scheduler may have used
  // the held room.
  const bool held = hold != holds_.end() && hold->second.node == call.node;
  if (!held || (!hold->second.sent && !HasRoom(hold->second))) {
    const auto pod = waiting_.find(call.uid);
    if (pod == waiting_.end()) {
      return Fail(Reason::kNotFound, "pod {}/{} does not exist or no longer waits for a node",
                  Brief(call.pod_namespace), Brief(call.pod));
    }
    if (hold != holds_.end() && hold->second.sent) {
      return Fail(Reason::kApiConflict, "pod {}/{} may already be bound to node {}",
                  Brief(call.pod_namespace), Brief(call.pod), hold->second.node);
    }
    const DeviceDemand demand = TRY(DemandOf(*pod->second));
    DropHold(call.uid);
    Fit fit = FitOn(FindNode(call.node), demand, *pod->second);
    if (!fit) return Fail(Reason::kNoRoom, "node {}: {}", call.node, fit.error().why);
    HoldFor(*pod->second, call.node, *std::move(fit), demand, now);
    hold = holds_.find(call.uid);
  }
  kube::Binding binding{
      .pod_namespace = call.pod_namespace, .pod = call.pod, .uid = call.uid, .node = call.node};
  if (hold->second.placement.empty()) return binding;  // whole devices: kubelet chooses
  const auto found_by =
      NeedsLock(call.uid, call.node) ? hami::FoundBy::kPlugin : hami::FoundBy::kAgent;
  binding.annotations =
      hami::PlacementAnnotations(hold->second.placement, vendors_.at(hold->second.kind),
                                 hold->second.mode, call.node, found_by, wall);
  binding.labels.insert_or_assign(std::string(hami::kPodNode), call.node);
  return binding;
}

std::vector<std::string> Cluster::NodeNames() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

void Cluster::EachDevice(const std::string& name,
                         const std::function<void(const CandidateDevice&)>& each) const {
  const NodeState* node = FindNode(name);
  if (node != nullptr) std::ranges::for_each(node->devices, each);
}

void Cluster::EachTaken(const std::string& name, const Taken& each) const {
  const NodeState* node = FindNode(name);
  if (node == nullptr) return;
  for (const auto& [uid, usage] : node->taken) {
    const std::string& pod = takers_.at(uid).pod;
    for (const auto& [device, used] : usage) each(pod, device, used);
  }
}

bool Cluster::NeedsLock(const std::string& uid, const std::string& name) const {
  const auto hold = holds_.find(uid);
  if (hold != holds_.end() && !vendors_.HasAgent(hold->second.kind)) return true;
  const NodeState* node = FindNode(name);
  return node == nullptr || (!node->agent.late_bound && node->whole == 0);
}

bool Cluster::IsHeld(const std::string& uid, const std::string& node) const {
  const auto hold = holds_.find(uid);
  return hold != holds_.end() && hold->second.node == node;
}

void Cluster::BindingSent(const std::string& uid) {
  const auto hold = holds_.find(uid);
  if (hold != holds_.end()) hold->second.sent = true;
}

bool Cluster::IsSent(const std::string& uid) const {
  const auto hold = holds_.find(uid);
  return hold != holds_.end() && hold->second.sent;
}

void Cluster::DropHold(const std::string& uid) {
  if (holds_.erase(uid) > 0) Release(uid);
}

void Cluster::DropHoldsBefore(Steady then) {
  std::vector<std::string> old;
  for (const auto& [uid, hold] : holds_) {
    if (hold.since < then) old.push_back(uid);
  }
  for (const std::string& uid : old) DropHold(uid);
}

NodePolicy Cluster::NodePolicyOf(const kube::Pod& pod) const {
  const std::string_view policy = Trim(pod.Annotation(hami::kNodePolicy));
  if (policy.empty()) return policies_.node;
  return policy == "spread" ? NodePolicy::kSpread : NodePolicy::kBinpack;
}

const Cluster::NodeState* Cluster::FindNode(std::string_view name) const {
  const auto node = nodes_.find(name);
  return node == nodes_.end() ? nullptr : &node->second;
}

std::span<const CandidateDevice> Cluster::DevicesOf(const NodeState& node, uint8_t kind) {
  const std::span<const CandidateDevice> all = node.devices;
  // Most nodes have devices of one kind.
  const bool one = !all.empty() && all.front().kind == all.back().kind;
  if (one) return all.front().kind == kind ? all : all.first(0);
  const auto own = std::ranges::equal_range(all, kind, {}, &CandidateDevice::kind);
  return {own.begin(), own.end()};
}

Cluster::Fit Cluster::FitOn(const NodeState* node, const DeviceDemand& demand) const {
  if (node == nullptr) return tl::unexpected(kUnregistered);
  if (node->unreadable) return tl::unexpected(kUnreadable);
  if (node->whole > 0 && vendors_.HasAgent(demand.kind)) {
    if (AsksForAnyWhole(demand)) return PodPlacement();
    return tl::unexpected(kWholeAlone);
  }
  const std::span<const CandidateDevice> devices = DevicesOf(*node, demand.kind);
  if (devices.empty()) return tl::unexpected(kUnregistered);
  if (!node->unread.empty()) return tl::unexpected(kUnread);
  return ChooseDevices(demand, devices);
}

Cluster::Fit Cluster::FitOn(const NodeState* node, const DeviceDemand& demand,
                            const kube::Pod& pod) const {
  Fit fit = FitOn(node, demand);
  if (!fit || !vendors_.HasAgent(demand.kind) || !quotas_.HasAny(pod.pod_namespace)) return fit;
  if (fit->empty()) return tl::unexpected(kUncounted);
  // Evicting pods of this node would not help, because the quota is the namespace's.
  const std::string* why = quotas_.WhyNot(pod, UsageOfPlacement(*fit, nullptr));
  return why == nullptr ? fit : tl::unexpected(Misfit{*why, false});
}

bool Cluster::HasRoom(const Hold& hold) const {
  const NodeState* node = FindNode(hold.node);
  if (node == nullptr || !node->unread.empty()) return false;
  if (hold.placement.empty()) return node->whole > 0;
  const auto fits = [node](const auto& held) {
    const auto device = std::ranges::find(
        node->devices, held.first, [](const CandidateDevice& one) { return one.capacity.device; });
    if (device == node->devices.end()) return false;
    const DeviceUsage all = AllOf(device->capacity);
    const DeviceUsage& used = device->used;  // includes holds
    return used.containers <= all.containers && used.memory <= all.memory &&
           used.cores <= all.cores;
  };
  return std::ranges::all_of(UsageOfPlacement(hold.placement, nullptr), fits);
}

void Cluster::HoldFor(const kube::Pod& pod, const std::string& node, PodPlacement placement,
                      const DeviceDemand& demand, Steady now) {
  Take(pod, node, {UsageOfPlacement(placement, nullptr), demand.kind});
  holds_[pod.uid] = {.node = node,
                     .placement = std::move(placement),
                     .since = now,
                     .kind = demand.kind,
                     .mode = demand.selector.modes};
}

void Cluster::CountQuota(const kube::Pod& pod, const TakenDevices& taken) {
  if (vendors_.HasAgent(taken.kind)) quotas_.Take(pod, taken.usage);
}

void Cluster::Take(const kube::Pod& pod, const std::string& node, TakenDevices taken) {
  CountQuota(pod, taken);
  NodeState& state = nodes_[node];
  state.taken[pod.uid] = std::move(taken.usage);
  takers_[pod.uid] = {node, pod.FullName()};
  summaries_.Put(node, Recount(state));
}

void Cluster::Release(const std::string& uid) {
  quotas_.Release(uid);
  const auto at = takers_.find(uid);
  if (at == takers_.end()) return;
  const auto node = nodes_.find(at->second.node);
  takers_.erase(at);
  if (node == nodes_.end()) return;
  node->second.taken.erase(uid);
  node->second.unread.erase(uid);
  summaries_.Put(node->first, Recount(node->second));
  refusals_.Changed(node->first);
  ForgetEmpty(node->first);
}

void Cluster::ForgetEmpty(const std::string& name) {
  const auto node = nodes_.find(name);
  const NodeState& state = node->second;
  const bool has_pods = !state.taken.empty() || !state.unread.empty();
  if (!state.devices.empty() || state.unreadable || state.whole > 0 || has_pods) return;
  summaries_.Erase(name);
  nodes_.erase(node);
}

NodeSummary Cluster::Recount(NodeState& node) {
  struct Sum {
    DeviceUsage used{};
    bool sliced = false;    // by a pod that has slices of it
    bool unsliced = false;  // by one that has it as if there were none
  };
  std::map<std::string_view, Sum> sums;
  for (const auto& [uid, usage] : node.taken) {
    for (const auto& [device, taken] : usage) {
      Sum& sum = sums[device];
      sum.used += taken;
      (taken.slices == 0 ? sum.unsliced : sum.sliced) = true;
    }
  }
  DeviceUsage used;
  DeviceUsage all;
  NodeSummary summary;
  for (CandidateDevice& device : node.devices) {
    const Sum& sum = sums[device.capacity.device];
    device.used = sum.used;
    device.unclear = device.profiles.empty() ? sum.sliced : sum.unsliced;
    used += device.used;
    all += AllOf(device.capacity);
    summary.kinds |= NodeSummary::BitOf(device.kind);
    summary.most_free = std::max(summary.most_free, device.capacity.memory - device.used.memory);
  }
  summary.fullness = ScoreOf(used, all);
  if (node.whole > 0) summary.kinds |= NodeSummary::BitOf(0);
  return summary;
}

}  // namespace tessera::scheduler
