// SPDX-License-Identifier: Apache-2.0
// A node of dummy NPUs for tests. It records the changes of each call, and shows what it would
// save.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"

namespace tessera {

inline const std::string kSource = "dummy.com/npu";

inline Device Npu(const std::string& id) {
  Device device;
  device.key = {kSource, id};
  device.visible_as = id;
  return device;
}

inline Observation Good(const std::string& id) {
  return {{kSource, id}, {EvidenceKind::kGood, EvidenceSource::kCheck, Reason::kCheckFailed, ""}};
}

inline Observation Fatal(const std::string& id, const std::string& detail) {
  return {{kSource, id},
          {EvidenceKind::kFatal, EvidenceSource::kEvent, Reason::kFatalEvent, detail}};
}

// Records the changes that each call returns.
class RecordedNode : public Node {
 public:
  using Node::Node;

  // Returns whether the next scan may let a device leave.
  bool UpdateDevices(const std::string& source, std::vector<Device> devices) {
    Record(Node::UpdateDevices(source, std::move(devices)));
    return AnyMayLeave(source);
  }
  void Observe(const std::string& source, const std::vector<Observation>& observations) {
    Record(Node::Observe(source, observations));
  }
  void LookAtRivals() { Record(Node::LookAtRivals()); }
  void Unverify(const std::string& source, Reason reason, const std::string& detail) {
    Record(Node::Unverify(source, reason, detail));
  }
  void SetObstacle(const std::string& source, std::optional<Error> why) {
    Record(Node::SetObstacle(source, std::move(why)));
  }
  void SetPrepared(std::set<DeviceKey, DeviceKeyLess> held, DeviceObstacles outstanding = {},
                   std::map<std::string, Error> obstacles = {}, DeviceKeys left = {}) {
    Record(Node::SetPrepared(std::move(held), std::move(outstanding), std::move(obstacles),
                             std::move(left)));
  }
  void AdoptCordons(Cordons cordons) { Record(Node::AdoptCordons(std::move(cordons))); }
  void AdoptFalls(const Verdicts& verdicts) { Record(Node::AdoptFalls(verdicts)); }
  // Returns whether all of the resource is gone.
  bool EndRetired(const std::string& source) {
    Record(Node::EndRetired(source));
    return !retired().contains(source);
  }
  // Returns when the next device becomes stale.
  std::optional<Steady> Tick() {
    Record(Node::Tick());
    return NextStale();
  }
  Result<DeviceKey> Cordon(std::string_view name, std::string_view reason) {
    return Record(Node::Cordon(name, reason));
  }
  Result<DeviceKey> Uncordon(std::string_view name) { return Record(Node::Uncordon(name)); }

  std::string TakeTold() { return std::exchange(told_, ""); }

 private:
  void Record(const std::vector<Changes>& all) {
    for (const Changes& changes : all) {
      told_ += (changes.urgency == Urgency::kAtOnce ? "bad:" : "change:") + changes.source + " ";
      for (const Transition& step : changes.transitions) {
        told_ += step.key.id + "=" + std::string(HealthStateName(step.after.state)) + " ";
      }
    }
  }
  Result<DeviceKey> Record(const Result<OrderResult>& ordered) {
    if (!ordered) return Fail(ordered.error());
    Record(ordered->changes);
    return ordered->device;
  }

  std::string told_;
};

class NodeUnderTest {
 public:
  std::string TakeTold() { return node_.TakeTold(); }
  std::optional<Error> Trouble(const std::string& id) {
    return node_.TroubleOf(*node_.inventory()->Find({kSource, id}));
  }

  // How often a device that flaps for a minute would change in kubelet's list.
  int ChangesOfAMinuteAtTenHertz() {
    int changes = 0;
    bool offered = !Trouble("0");
    for (int i = 0; i < 600; ++i) {
      clock_.Advance(Duration(100));
      node_.Observe(kSource, {i % 2 == 0 ? Fatal("0", "off the bus") : Good("0")});
      if (offered == !Trouble("0")) continue;
      offered = !offered;
      ++changes;
    }
    return changes;
  }

  // The saved state as the next process reads it.
  Facts SavedFacts() {
    return *ParseFacts(WriteFacts(node_.inventory()->devices, node_.cordons(), node_.plans()));
  }
  Verdicts SavedVerdicts() {
    std::string log = VerdictsHeader("boot");
    for (const Device& device : node_.inventory()->devices) {
      log += VerdictLine(device.key, node_.VerdictOf(device.key));
    }
    return *ParseVerdicts(log, "boot");
  }
  std::vector<std::string> UnsavedIds() {
    std::vector<std::string> ids;
    for (const DeviceKey& key : node_.unsaved_verdicts()) ids.push_back(key.id);
    return ids;
  }

  std::string KnownDevices() {
    std::string text;
    for (const Device& device : node_.inventory()->devices) text += device.key.Text() + " ";
    return text;
  }
  // Forgets grants that no list of kubelet's has confirmed.
  void EndPending() {
    clock_.Advance(Node::Parameters().ledger_pending);
    node_.ledger().Reconcile({}, {kSource, "dummy.com/tpu", "dummy.com/other"}, clock_.Now());
  }

  FakeClock clock_;
  RecordedNode node_{clock_, {}};
};

}  // namespace tessera
