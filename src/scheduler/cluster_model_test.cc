// SPDX-License-Identifier: Apache-2.0
// Random pods, nodes, deaths and restarts, with late and duplicate events, in simulated time. A
// reference sums up the API server's annotations and is compared with the cluster.
// TESSERA_MODEL_STEPS makes the run longer; TESSERA_MODEL_SEED repeats one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>

#include "base/text.h"
#include "hami/names.h"
#include "hami/node_register.h"
#include "hami/policies.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

using Kind = kube::Container::Kind;
using Phase = kube::Pod::Phase;

constexpr int64_t kCardMemory = 8000;
constexpr int64_t kCardShares = 4;
constexpr size_t kMostPods = 40;
constexpr size_t kCards = 2;  // of a node
constexpr std::array kNodes = {"a", "b", "c", "d"};
constexpr int64_t kQuota = 40'000;  // MiB, of 64,000
constexpr Duration kHoldsFor{600'000};

uint64_t NumberIn(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The usage of one card.
struct Room {
  int64_t containers = 0;
  int64_t memory = 0;
  int64_t cores = 0;
  Room operator+(const Room& more) const {
    return {containers + more.containers, memory + more.memory, cores + more.cores};
  }
  Room Max(const Room& other) const {
    return {std::max(containers, other.containers), std::max(memory, other.memory),
            std::max(cores, other.cores)};
  }
};
using RoomByCard = std::map<std::string, Room>;

// Reads the annotation, which lists the containers in order: "ID,NVIDIA,MEMORY,CORES:...;...;".
RoomByCard PeakOf(const kube::Pod& pod) {
  const std::string_view all = pod.Annotation(hami::kNvidia.pod_allocated);
  RoomByCard sidecars;
  RoomByCard apps;
  RoomByCard peak;
  const std::vector<std::string> entries = Split(all, ';');
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    for (const std::string& part : Split(entries.at(i), ':')) {
      if (part.empty()) continue;
      const std::vector<std::string> words = Split(part, ',');
      const std::string& card = words.at(0);
      const Room room{1, std::stoll(std::string(words.at(2))),
                      std::stoll(std::string(words.at(3)))};
      const Kind kind = pod.containers[i].kind;
      if (kind == Kind::kApp) apps[card] = apps[card] + room;
      if (kind == Kind::kSidecar) sidecars[card] = sidecars[card] + room;
      peak[card] =
          peak[card].Max(kind == Kind::kInit ? sidecars[card] + room : sidecars[card] + apps[card]);
    }
  }
  return peak;
}

class ClusterModel {
 public:
  // With every other seed the pods' namespace has a quota.
  explicit ClusterModel(uint64_t seed) : random_(seed), quota_(seed % 2 == 0 ? kQuota : 0) {
    for (const char* node : kNodes) AddNode(node);
    Restart();
  }

  void Step() {
    now_ += Duration(Below(200));
    ++steps_;
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
        return CreatePod();
      case 3:
      case 4:
      case 5:
        return FilterOne();
      case 6:
      case 7:
        return BindOne();
      case 8:
        return EndOne();
      case 9:
        return DeleteOne();
      case 10:
        return Below(4) == 0 ? ChangeNode() : Simulate();
      case 11:
        return Below(50) == 0 ? Restart() : Repeat();
      case 12:
        return Below(4) == 0 ? ApplyLate() : Wake();
      default:
        return Deliver();
    }
  }

  // Runs until nothing is in flight. A pod refused then must fit nowhere.
  void Settle() {
    settles_ = true;
    ApplyLate();
    while (!placed_.empty()) BindOne();
    while (!events_.empty()) Deliver();
    cluster_->DropHoldsBefore(now_ + Duration(1));
    for (int quiet = 0; quiet < 140 && !testing::Test::HasFailure(); ++quiet) {
      now_ += Duration(1'000);
      const auto woken = cluster_->ToWake(now_);
      if (!woken.empty()) quiet = 0;
      for (const kube::PodPtr& pod : woken) Try(pod->uid);
      while (!placed_.empty()) BindOne();
      while (!events_.empty()) Deliver();
    }
    // Freed quota wakes no pod.
    for (const std::string& uid : refused_) {
      if (quota_ == 0) ExpectNoRoom(*pods_.at(uid), "was not woken");
    }
    if (testing::Test::HasFailure()) return;
    // A try places each waiting pod, or the pod fits nowhere.
    for (const std::string& uid : Waiting()) {
      Try(uid);
      if (!placed_.contains(uid)) ExpectNoRoom(*pods_.at(uid), "is refused");
      while (!placed_.empty()) BindOne();
      while (!events_.empty()) Deliver();
    }
    settles_ = false;
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  // Injects a fault. None while the run settles, because a hold of an unbound pod would keep its
  // room.
  bool OneIn(uint64_t bound) { return Below(bound) == 0 && !settles_; }
  template <typename Keys>
  std::string AnyOf(const Keys& keys) {
    return *std::next(keys.begin(), static_cast<std::ptrdiff_t>(Below(keys.size())));
  }

  // --- What the API server has.

  void AddNode(const std::string& name) {
    std::vector<hami::RegisteredDevice> cards;
    for (uint32_t i = 0; i < kCards; ++i) {
      cards.push_back({.id = fmt::format("{}{}", name, i),
                       .index = i,
                       .count = kCardShares,
                       .devmem = kCardMemory,
                       .devcore = 100,
                       .type = "NVIDIA A100",
                       .health = !sick_.contains(fmt::format("{}{}", name, i))});
    }
    nodes_[name] = {
        .name = name,
        .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(cards)}}};
    events_.emplace_back([this, node = nodes_[name]] { cluster_->PutNode(node); });
  }

  void ChangeNode() {
    const std::string name = kNodes[Below(kNodes.size())];
    if (!nodes_.contains(name)) {
      AddNode(name);
      // Kube-scheduler retries all waiting pods when a node appears.
      for (const std::string& uid : Waiting()) Try(uid);
    } else if (Below(4) == 0) {
      nodes_.erase(name);
      events_.emplace_back([this, name] { cluster_->RemoveNode(name); });
    } else {
      const std::string card = fmt::format("{}{}", name, Below(kCards));
      if (!sick_.erase(card)) sick_.insert(card);
      AddNode(name);
    }
  }

  kube::Container AnyContainer(const char* name, Kind kind) {
    kube::Container container{.name = name, .kind = kind};
    container.limits["nvidia.com/gpu"] = Below(6) == 0 ? "2" : "1";
    if (Below(4) == 0) {
      container.limits["nvidia.com/gpumem-percentage"] = std::to_string(25 * (1 + Below(4)));
    } else {
      container.limits["nvidia.com/gpumem"] = std::to_string(1000 * (1 + Below(8)));
    }
    constexpr std::array kCores = {"0", "25", "50", "100"};
    container.limits["nvidia.com/gpucores"] = kCores[Below(kCores.size())];
    return container;
  }

  void CreatePod() {
    if (pods_.size() >= kMostPods) return;
    kube::Pod pod{
        .uid = fmt::format("uid-{}", steps_), .pod_namespace = "team", .phase = Phase::kPending};
    pod.name = fmt::format("pod-{}", steps_);
    const uint64_t which = Below(8);
    if (which == 0) pod.containers.push_back(AnyContainer("init", Kind::kInit));
    if (which == 1) pod.containers.push_back(AnyContainer("sidecar", Kind::kSidecar));
    pod.containers.push_back(AnyContainer("main", Kind::kApp));
    if (which == 2) pod.containers.push_back(AnyContainer("other", Kind::kApp));
    if (Below(4) == 0) pod.annotations[std::string(hami::kNodeChoices)] = "3";
    Put(std::move(pod));
  }

  void Put(kube::Pod pod) {
    const auto now = std::make_shared<const kube::Pod>(std::move(pod));
    pods_[now->uid] = now;
    events_.emplace_back([this, now] { Know(now); });
  }

  // Delivers events in the order of the watch. Any event may come twice.
  void Know(const kube::PodPtr& pod) {
    known_[pod->uid] = pod;
    cluster_->PutPod(pod);
  }
  void Deliver() {
    if (events_.empty()) return;
    events_.front()();
    events_.pop_front();
  }
  void Repeat() {
    if (!known_.empty())
      cluster_->PutPod(
          std::next(known_.begin(), static_cast<std::ptrdiff_t>(Below(known_.size())))->second);
  }

  void EndOne() {
    std::vector<std::string> running;
    for (const auto& [uid, pod] : pods_) {
      if (!pod->node.empty() && !pod->HasEnded()) running.push_back(uid);
    }
    if (running.empty()) return;
    kube::Pod pod = *pods_.at(AnyOf(running));
    pod.phase = Below(2) == 0 ? Phase::kSucceeded : Phase::kFailed;
    Put(std::move(pod));
  }
  void DeleteOne() {
    if (pods_.empty()) return;
    const auto gone = std::next(pods_.begin(), static_cast<std::ptrdiff_t>(Below(pods_.size())));
    events_.emplace_back([this, pod = gone->second] {
      known_.erase(pod->uid);
      cluster_->RemovePod(pod->uid);
    });
    refused_.erase(gone->first);
    pods_.erase(gone);
  }

  // --- What kube-scheduler does.

  std::vector<std::string> Waiting() const {
    std::vector<std::string> waiting;
    for (const auto& [uid, pod] : pods_) {
      if (pod->node.empty() && !placed_.contains(uid)) waiting.push_back(uid);
    }
    return waiting;
  }
  std::vector<std::string_view> NodeNames() const {
    std::vector<std::string_view> names;
    for (const auto& [name, node] : nodes_) names.emplace_back(name);
    return names;
  }

  void FilterOne() {
    const std::vector<std::string> waiting = Waiting();
    if (!waiting.empty()) Try(AnyOf(waiting));
  }
  void Try(const std::string& uid) {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end() || !pod->second->node.empty() || placed_.contains(uid)) return;
    const FilterAnswer answer = cluster_->Filter({.pod = *pod->second, .nodes = NodeNames()}, now_);
    refused_.erase(uid);
    if (!answer.error.empty()) return;  // kube-scheduler retries
    if (answer.nodes.empty()) {
      refused_.insert(uid);
    } else {
      placed_[uid] = answer.nodes[Below(answer.nodes.size())];
    }
  }
  void Simulate() {
    const std::vector<std::string> waiting = Waiting();
    if (waiting.empty()) return;
    const size_t holds = cluster_->holds();
    cluster_->Filter({.pod = *pods_.at(AnyOf(waiting)), .nodes = NodeNames(), .simulated = true},
                     now_);
    EXPECT_EQ(cluster_->holds(), holds);
  }
  void Wake() {
    for (const kube::PodPtr& pod : cluster_->ToWake(now_)) Try(pod->uid);
    cluster_->DropHoldsBefore(now_ - kHoldsFor);
  }

  // Binds a filtered pod, whatever has happened to it since.
  void BindOne() {
    if (placed_.empty()) return;
    const auto next =
        std::next(placed_.begin(), static_cast<std::ptrdiff_t>(Below(placed_.size())));
    const auto [uid, chosen] = *next;
    placed_.erase(next);
    if (OneIn(20)) return;  // another plugin of kube-scheduler refused it after filter
    const std::string node = OneIn(20) ? std::string(kNodes[Below(kNodes.size())]) : chosen;
    const auto pod = pods_.find(uid);
    const BindCall call{"team", pod == pods_.end() ? "gone" : pod->second->name, uid, node};
    const bool unsure = cluster_->IsSent(uid);
    const auto binding = cluster_->PlaceOn(call, now_, Wall());
    if (!binding) return;
    cluster_->BindingSent(uid);
    if (pod != pods_.end() && !pod->second->node.empty()) {
      return cluster_->PutPod(pod->second);  // an earlier Binding took effect
    }
    if (pod == pods_.end()) return cluster_->DropHold(uid);
    if (!nodes_.contains(node)) {  // refused, but an earlier Binding may still take effect
      return unsure ? void() : cluster_->DropHold(uid);
    }
    const Late sent{uid, node, binding->annotations};
    if (OneIn(10)) {  // the Binding is lost or late
      if (Below(2) == 0) late_.push_back(sent);
      return;
    }
    Apply(sent);
    if (OneIn(10)) cluster_->PutPod(pods_.at(uid));  // the answer was lost
  }
  // The API server accepts a Binding only for a pod without a node.
  struct Late {
    std::string uid;
    std::string node;
    kube::Texts annotations;
  };
  void Apply(const Late& binding) {
    const auto pod = pods_.find(binding.uid);
    if (pod == pods_.end() || !pod->second->node.empty()) return;
    kube::Pod bound = *pod->second;
    bound.node = binding.node;
    bound.phase = Phase::kRunning;
    for (const auto& [key, value] : binding.annotations) bound.annotations[key] = value;
    refused_.erase(binding.uid);
    placed_.erase(binding.uid);
    Put(std::move(bound));
    ExpectRoom(binding.node);
  }
  void ApplyLate() {
    for (const Late& binding : std::exchange(late_, {})) Apply(binding);
  }

  // Another process becomes the leader. It reads the current state and knows no holds.
  void Restart() {
    late_.clear();  // late Bindings take effect before it reads, or never
    events_.clear();
    known_.clear();
    refused_.clear();
    cluster_ = std::make_unique<Cluster>(std::vector{hami::ServedVendor()}, Policies());
    if (quota_ > 0) {
      cluster_->quotas().Put({.quota_namespace = "team",
                              .name = "gpus",
                              .hard = {{"limits.nvidia.com/gpumem", std::to_string(quota_)}}});
    }
    for (const auto& [name, node] : nodes_) cluster_->PutNode(node);
    for (const auto& [uid, pod] : pods_) Know(pod);
  }

  // --- What has to hold.

  RoomByCard TakenOn(const std::string& node) const {
    RoomByCard taken;
    for (const auto& [uid, pod] : pods_) {
      if (pod->node != node || pod->HasEnded()) continue;
      for (const auto& [card, room] : PeakOf(*pod)) taken[card] = taken[card] + room;
    }
    return taken;
  }
  void ExpectRoom(const std::string& node) const {
    for (const auto& [card, room] : TakenOn(node)) {
      EXPECT_TRUE(room.containers <= kCardShares && room.memory <= kCardMemory && room.cores <= 100)
          << "step " << steps_ << ": " << card << " has " << room.containers << " containers, "
          << room.memory << " MiB and " << room.cores << " percent taken";
    }
    EXPECT_TRUE(quota_ == 0 || MemoryOfAll() <= quota_)
        << "step " << steps_ << ": pods have " << MemoryOfAll() << " MiB";
  }
  int64_t MemoryOfAll() const {
    int64_t memory = 0;
    for (const auto& [uid, pod] : pods_) {
      if (pod->node.empty() || pod->HasEnded()) continue;
      for (const auto& [card, room] : PeakOf(*pod)) memory += room.memory;
    }
    return memory;
  }
  // Checks only pods with one container that requests one card; for those the reference needs no
  // search.
  void ExpectNoRoom(const kube::Pod& pod, const char* what) const {
    const kube::Texts& limits = pod.containers[0].limits;
    if (pod.containers.size() != 1 || limits.at("nvidia.com/gpu") != "1") return;
    const auto percentage = limits.find("nvidia.com/gpumem-percentage");
    const int64_t memory = percentage == limits.end()
                               ? std::stoll(limits.at("nvidia.com/gpumem"))
                               : kCardMemory * std::stoll(percentage->second) / 100;
    const int64_t cores = std::stoll(limits.at("nvidia.com/gpucores"));
    if (quota_ > 0 && MemoryOfAll() + memory > quota_) return;
    for (const auto& [node, object] : nodes_) {
      RoomByCard taken = TakenOn(node);
      for (size_t i = 0; i < kCards; ++i) {
        const std::string card = fmt::format("{}{}", node, i);
        const Room used = taken[card];
        const bool alone = cores == 100 && used.containers > 0;
        const bool full = used.cores == 100;
        EXPECT_TRUE(sick_.contains(card) || alone || full || used.containers == kCardShares ||
                    used.memory + memory > kCardMemory || used.cores + cores > 100)
            << "step " << steps_ << ": " << pod.name << " wants " << memory << " MiB and " << cores
            << " percent, and " << what << "; " << card << " has " << used.containers
            << " containers, " << used.memory << " MiB and " << used.cores << " percent taken";
      }
    }
  }

  std::mt19937_64 random_;
  const int64_t quota_;  // 0: none
  uint64_t steps_ = 0;
  bool settles_ = false;
  Steady now_ = Steady() + Duration(1'000'000);
  std::map<std::string, kube::ClusterNode> nodes_;
  std::set<std::string> sick_;  // cards
  std::map<std::string, kube::PodPtr> pods_;
  std::deque<std::function<void()>> events_;   // events not delivered yet
  std::map<std::string, kube::PodPtr> known_;  // pods as last delivered
  std::vector<Late> late_;
  std::map<std::string, std::string> placed_;  // filter's node, by pod UID
  std::set<std::string> refused_;              // by this process
  std::unique_ptr<Cluster> cluster_;
};

// Each seed is a run of its own, so that runs can be parallel.
class ClusterModelTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ClusterModelTest, NothingIsTakenTwiceAndNobodyWaitsWhoFits) {
  const uint64_t seed = NumberIn("TESSERA_MODEL_SEED", GetParam());
  const uint64_t steps = NumberIn("TESSERA_MODEL_STEPS", 25'000);
  ClusterModel model(seed);
  for (uint64_t step = 1; step <= steps && !HasFailure(); ++step) {
    model.Step();
    if (step % 500 == 0) model.Settle();
  }
  EXPECT_FALSE(HasFailure()) << "TESSERA_MODEL_SEED=" << seed;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ClusterModelTest, testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace tessera::scheduler
