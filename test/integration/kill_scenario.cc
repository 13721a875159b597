// SPDX-License-Identifier: Apache-2.0
#include "kill_scenario.h"

#include <algorithm>
#include <csignal>

#include "os/files.h"
#include "share/share.h"

namespace tessera {
namespace {

constexpr char kSick[] = "3";
constexpr char kTpu[] = "dummy.com/tpu";
constexpr Duration kSlice{5};  // how soon the agent's death is noticed

// Heals quickly, and has no debounce to wait for.
constexpr char kQuick[] = "advertise: {debounce: 1ms}\n";

// The same devices in shares; the pod's device stays whole until the pod ends. And another
// resource.
constexpr char kReloaded[] =
    "  - {name: dummy.com/npu, policy: replicas, replicas: 2, dummy: {count: 4}}\n"
    "  - {name: dummy.com/tpu, env: TPUS, dummy: {count: 1}}\n";

}  // namespace

bool KillScenario::Dead() {
  if (dead_) return true;
  if (auto status = agent_.Poll()) {
    dead_ = true;
    exit_ = *status;
  }
  return dead_;
}

bool KillScenario::Holds(const std::function<bool()>& condition) {
  for (Steady limit = SystemClock().Now() + kLimit; SystemClock().Now() < limit;) {
    // Wakes up at each change that kubelet sees, and looks for the agent's death every kSlice.
    if (kubelet_->WaitUntil([&](const auto&) { return condition(); }, kSlice)) return true;
    if (Dead()) return false;
  }
  ADD_FAILURE() << "waited too long in step " << static_cast<int>(step_);
  return false;
}

bool KillScenario::Shows(int capacity, int allocatable) {
  kubelet::ResourceStatus status = Status(kNpu);
  return status.connected && status.capacity == capacity && status.allocatable == allocatable;
}

bool KillScenario::Play(faults::Call call, uint32_t at) {
  control_->kill_in = call;
  control_->kill_at = at;
  WriteConfig(WithRecovery(Config(kFour, kQuick), "0s"));
  StartKubelet();
  agent_ = StartAgent(control_.Before());
  Go();
  // Any failure in Go() came from the agent's death.
  (void)Holds([this] { return Dead(); });
  EXPECT_EQ(exit_, step_ == Step::kEnd ? 0 : 128 + SIGKILL);
  dead_ = true;
  return step_ != Step::kEnd;
}

// Each step ends when the agent has shown that it is done, or is dead.
void KillScenario::Go() {
  if (!Holds([&] { return Shows(4, 4); })) return;
  step_ = Step::kAllocate;
  pod_ = Run("a", {{kNpu, 1}});
  if (!pod_.admitted) return;
  step_ = Step::kFail;
  SetFaults({{kSick, {{"fail", "on fire"}}}});
  kubelet_knows_ = Holds([&] { return Shows(4, 3); });
  // Makes some calls more in this state. Without an answer the agent is dead.
  if (!kubelet_knows_ || Page("/inventory").empty()) return;
  step_ = Step::kHeal;
  SetFaults({});
  if (!Holds([&] { return Shows(4, 4); })) return;
  step_ = Step::kReload;
  WriteConfig(WithRecovery(Config(kReloaded, kQuick), "0s"));
  if (!Holds([&] { return Status(kTpu).allocatable == 1 && Shows(7, 7); })) return;
  step_ = Step::kCordon;
  auto answer = Order("/cordon", {{"device", kSick}, {"reason", "loud"}});
  cordoned_ = answer && answer->status == 200;
  if (!cordoned_ || !Holds([&] { return Shows(7, 5); })) return;
  step_ = Step::kStop;
  agent_.Signal(SIGTERM);
  exit_ = agent_.Wait();
  dead_ = true;
  if (exit_ == 0) step_ = Step::kEnd;
}

// The faults and times leave only one correct outcome.
void KillScenario::CheckSuccessor() {
  SCOPED_TRACE(fmt::format("killed in step {}", static_cast<int>(step_)));
  if (step_ == Step::kFail && kubelet_knows_) {
    // The device's fault is gone: the verdict must have been saved before kubelet got it.
    SetFaults({});
    WriteConfig(WithRecovery(Config(kFour, kQuick), "1h"));
  }
  if (step_ == Step::kFail) ForgetLists();
  if (!StartSuccessor()) return;

  const int allocatable = Status(kNpu).allocatable;
  if (step_ == Step::kFail) {
    // The kill may have come before the others' verdicts were saved.
    EXPECT_EQ(OffersUntil(ListOf(3, 4)), std::vector<std::string>{ListOf(3, 4)});
  }
  // No list ever offered a share of the device that the pod holds whole.
  for (const std::string& list : EventsSoFar(kubelet::KubeletEvent::Kind::kList)) {
    EXPECT_EQ(list.find(" of 8 "), std::string::npos) << list;
  }
  CheckGrants(allocatable);
  EXPECT_EQ(OwnSockets().size(), step_ >= Step::kReload ? 2u : 1u);
  auto names = os::ListDirectory(dir_ + "/state").value_or(std::vector<std::string>());
  std::erase_if(names, [](const auto& name) { return name.find(".tmp") == std::string::npos; });
  EXPECT_EQ(names, std::vector<std::string>{}) << "left by the killed agent";
}

// Drops the killed agent's lists: kubelet reports the end of its stream after them.
void KillScenario::ForgetLists() {
  using Kind = kubelet::KubeletEvent::Kind;
  for (Steady limit = SystemClock().Now() + kLimit; SystemClock().Now() < limit;) {
    if (!EventsSoFar(Kind::kStreamEnded).empty()) break;
    (void)kubelet_->WaitUntil([](const auto&) { return false; }, kSlice);
  }
  (void)EventsSoFar(Kind::kList);
}

bool KillScenario::StartSuccessor() {
  const bool reloaded = step_ >= Step::kReload;
  const bool known = step_ == Step::kFail || cordoned_;
  // Otherwise kubelet would still show the killed agent's devices. And kubelet 1.36 drops the
  // successor when it notices the end of an older stream.
  const bool gone = kubelet_->WaitUntil(
      [&](const auto&) { return !Status(kNpu).connected && !Status(kTpu).connected; }, kLimit);
  EXPECT_TRUE(gone) << "kubelet has not noticed";
  const Steady began = SystemClock().Now();
  agent_ = StartAgent();
  dead_ = false;
  // A cordon that was not confirmed may have been saved or not.
  const bool back = Holds([&] {
    if (reloaded && Status(kTpu).allocatable != 1) return false;
    const bool well = reloaded ? Shows(7, 7) : Shows(4, 4);
    const bool one_out = reloaded ? Shows(7, 5) : Shows(4, 3);
    return (!known && well) || ((known || step_ == Step::kCordon) && one_out);
  });
  comeback_ = SystemClock().Now() - began;
  EXPECT_TRUE(back) << "not registered again";
  EXPECT_LT(comeback_, kSoon);
  return back;
}

void KillScenario::CheckGrants(int allocatable) {
  if (pod_.admitted) {
    auto grants = kubelet_->GrantsOf("default", "a");
    ASSERT_EQ(grants.size(), 1u);
    EXPECT_EQ(grants[0].ids, pod_.grants[0].ids);
  }
  const int free = allocatable - (pod_.admitted ? 1 : 0);
  kubelet::Admission next = Run("b", {{kNpu, free}});
  ASSERT_TRUE(next.admitted) << next.message;
  for (const std::string& id : next.grants[0].ids) {
    EXPECT_TRUE(!pod_.admitted || DeviceOfShare(id) != pod_.grants[0].ids[0])
        << id << " was granted twice";
  }
  EXPECT_TRUE(!pod_.admitted || Holds([&] { return LedgerHas(pod_, "a"); })) << Get("/ledger");
}

bool KillScenario::LedgerHas(const kubelet::Admission& pod, const std::string& name) {
  const json::Object page = Page("/ledger");
  const json::Array* holdings = json::GetArray(page, "holdings");
  const json::Array shares(pod.grants[0].ids.begin(), pod.grants[0].ids.end());
  if (holdings == nullptr) return false;
  return std::any_of(holdings->begin(), holdings->end(), [&](const json::Value& value) {
    const json::Object& holding = value.get_object();
    const json::Array* held = json::GetArray(holding, "shares");
    return json::GetString(holding, "pod") == name && held != nullptr && *held == shares;
  });
}

}  // namespace tessera
