// SPDX-License-Identifier: Apache-2.0
// A node of dummy NPUs for tests: what it tells is written down, what it would save can be read.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/node.h"

namespace tessera::agent {

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

class NodeUnderTest : public NodeObserver {
 public:
  void SourceChanged(const std::string& source, bool bad_news) override {
    told_ += (bad_news ? "bad:" : "change:") + source + " ";
  }
  void Transitions(const std::string&, const std::vector<Transition>& steps) override {
    for (const Transition& step : steps) {
      told_ += step.key.id + "=" + std::string(HealthStateName(step.after.state)) + " ";
    }
  }
  void Unsaved() override { ++unsaved_; }
  std::string TakeTold() { return std::exchange(told_, ""); }
  std::optional<Error> Trouble(const std::string& id) {
    return node_.TroubleOf(*node_.inventory()->Find({kSource, id}));
  }

  // How often what kubelet would be told of the device changes while it flaps.
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

  // As the next process reads it.
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
  // Grants that no list of kubelet's has confirmed are forgotten.
  void EndPending() {
    clock_.Advance(Node::Parameters().ledger_pending);
    node_.ledger().Reconcile({}, {kSource, "dummy.com/tpu", "dummy.com/other"}, clock_.Now());
  }

  FakeClock clock_;
  std::string told_;
  int unsaved_ = 0;
  Node node_{clock_, {}, *this};
};

}  // namespace tessera::agent
