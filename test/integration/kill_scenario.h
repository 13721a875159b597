// SPDX-License-Identifier: Apache-2.0
// A node whose agent is killed at one call of one kind, wherever in its life that falls, and what
// must be true of its successor. One thread, which must outlive the agent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_fixture.h"
#include "preload_control.h"

namespace tessera {

class KillScenario : private NodeUnderTest {
 public:
  // The agent's life up to that call: it starts and registers, a pod is allocated a device, another
  // device fails and heals, the configuration changes, a device is cordoned, the agent is told to
  // stop. True when it was killed, false when it came to its end before the call.
  bool Play(faults::Call call, uint32_t at);
  // Starts the successor and checks that all is as kubelet and the pod knew it.
  void CheckSuccessor();
  // Calls of the kind that were made.
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
  // Until it holds (true), or the agent has died.
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
  bool kubelet_knows_ = false;  // that device 3 is sick
  bool cordoned_ = false;       // the agent said so
  Duration comeback_{0};
};

}  // namespace tessera
