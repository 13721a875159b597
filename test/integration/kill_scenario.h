// SPDX-License-Identifier: Apache-2.0
// A node whose agent is killed at one call of one kind, anywhere in its life, and the checks of its
// successor. One thread, which must outlive the agent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_fixture.h"
#include "preload_control.h"

namespace tessera {

class KillScenario : private NodeUnderTest {
 public:
  // Plays the agent's life up to that call. It registers, a pod gets a device, and another device
  // fails and heals. Then the configuration changes, a device is cordoned, and the agent must stop.
  // True: it was killed. False: its life ended before the call.
  bool Play(faults::Call call, uint32_t at);
  // Starts the successor, and checks that it agrees with kubelet and the pod.
  void CheckSuccessor();
  // The number of calls of this kind that the agent made.
  uint32_t CountOf(faults::Call call) { return control_.CountOf(call); }
  // From the successor's start to its first list with kubelet.
  Duration comeback() const { return comeback_; }

 private:
  enum class Step : uint8_t {
    kStart,
    kAllocate,
    kFail,
    kHeal,
    kReload,
    kCordon,
    kStop,
    kEnd,
  };

  void Go();
  bool Dead();
  // Waits until the condition holds (true), or the agent has died.
  bool Holds(const std::function<bool()>& condition);
  bool Shows(int capacity, int allocatable);
  void ForgetLists();
  bool StartSuccessor();
  void CheckGrants(int allocatable);
  bool LedgerHas(const kubelet::Admission& pod, const std::string& name);

  PreloadControl control_{dir_ + "/control"};
  Step step_ = Step::kStart;
  bool dead_ = false;
  int exit_ = -1;
  kubelet::Admission pod_;
  bool kubelet_knows_ = false;  // kubelet has a list with device 3 unhealthy
  bool cordoned_ = false;       // the agent confirmed it
  Duration comeback_{0};
};

}  // namespace tessera
