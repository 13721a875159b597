// SPDX-License-Identifier: Apache-2.0
// A resource whose pods ask for parts of devices, which a preparer makes: Ascend's chips with
// HAMi's annotations. Each start is bound first, then prepared.
#include "agent/allocator.h"
#include "ascend/node.h"
#include "backend/ascend/ascend.h"
#include "backend/ascend/vgpu.h"
#include "base/captured_log_test.h"
#include "hami/vendor_table.h"
#include "kubelet/answered_test.h"
#include "prepare/preparations_under_test.h"

namespace tessera::agent {
namespace {

constexpr char kNpus[] = "huawei.com/Ascend910B3";
constexpr char kThirdGrant[] = "00000000000000000000000000000003";

// Two chips, "0" and "1", of four shares each.
class AllocatorPartsTest : public PreparationsTest {
 protected:
  AllocatorPartsTest() {
    Inventory inventory;
    for (const char* id : {"0", "1"}) {
      Device device;
      device.key = {kNpus, id};
      device.memory = 65'536;
      device.visible_as = id;
      device.order = inventory.devices.empty() ? 0 : 1;
      device.nodes = {{.host_path = "/dev/manager", .container_path = "/dev/manager"}};
      inventory.devices.push_back(device);
    }
    offer_ = Divide(kNpus, {{Division::kVgpu, 4, Separator::kColons}}, inventory, kNpus,
                    [](const Device&) { return std::optional<Error>(); });
    const hami::ServedVendor& row = *hami::AscendRow("Ascend910B3");
    FractionRules& rules = rendering_.fractions.emplace();
    rules.directory = "/usr/local/vgpu";
    rules.own_library = true;
    rules.enforced = false;
    rules.prepared = true;
    rules.parts = 4;
    rules.requests = row.vendor->Requests();
    rules.requests->rules = &row.rules;
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/usr/local/vgpu", 0755));
    Serve(backend_, kNpus);
    backend_->during_prepare = [this](const PrepareRequest& request) {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < request.devices.size(); ++i) {
        prepared_ += fmt::format("{} of {} for {}; ", request.parts.at(i).memory,
                                 request.devices[i].key.id, request.pod_uid);
      }
    };
    SetSnapshot(preparations_);
    context_->events.SetListener(std::make_shared<const BindEvents::Listener>(
        BindEvents::Listener{.refused = [this](const RefusedContainer& refused) {
          const std::lock_guard lock(mutex_);
          events_ += fmt::format("{}/{} {}{}; ", refused.pod_uid, refused.container,
                                 refused.error.Text(), refused.for_good ? " for good" : "");
        }}));
  }
  ~AllocatorPartsTest() override { allocator_->Set({}); }

  void SetSnapshot(std::shared_ptr<Preparations> preparations) {
    allocator_->Set({.offer = std::make_shared<Offer>(offer_),
                     .rendering = rendering_,
                     .backend = backend_,
                     .cdi_dir = directory_ + "/cdi",
                     .described = std::make_shared<cdi::Parts>(),
                     .preparations = std::move(preparations)});
  }
  // kubelet has given the container these ids, by an answer that names the grant.
  void HoldBoth(const std::string& uid, const std::string& container, std::vector<std::string> ids,
                const std::string& grant) {
    checkpoint_.entries.push_back(
        {.pod_uid = uid,
         .container = container,
         .resource = kNpus,
         .ids_by_numa = {{"-1", std::move(ids)}},
         .allocate_response = Field(4, Field(1, kGrantAnnotation) + Field(2, grant)) +
                              Field(4, Field(1, kPreparedAnnotation) + Field(2, grant))});
    Save();
  }
  static kube::Container AskingFor(const std::string& name, int count, int memory) {
    kube::Container container{.name = name, .limits = {{kNpus, std::to_string(count)}}};
    if (memory > 0) {
      container.limits[std::string(kNpus) + "-memory"] = std::to_string(memory);
    }
    return container;
  }
  // The scheduler placed the pod on worker-1, where it runs.
  void Know(const std::string& uid, std::vector<kube::Container> containers,
            const std::string& allocated, const std::string& templates) {
    kube::Pod pod{.uid = uid, .pod_namespace = "team", .name = "pod-" + uid, .node = "worker-1"};
    pod.containers = std::move(containers);
    pod.annotations = {{"hami.io/vgpu-node", "worker-1"},
                       {"hami.io/Ascend910B3-devices-allocated", allocated},
                       {kNpus, templates}};
    context_->pods.Put(pod);
  }
  // A pod that asks for 10,000 MiB and has 16,384 of the chip.
  void KnowQuarter(const std::string& uid, const std::string& chip) {
    Know(uid, {AskingFor("app", 1, 10'000)}, chip + ",Ascend910B3,16384,0:;",
         R"([{"UUID":")" + chip + R"(","temp":"vir05_1c_16g"}])");
  }
  std::future<Status> BeginPreStart(const std::vector<std::string>& ids) {
    const auto answer = std::make_shared<std::promise<Status>>();
    allocator_->PreStart(
        ids, [] { return true; },
        [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future();
  }
  std::string PreStart(const std::vector<std::string>& ids) {
    return Text(BeginPreStart(ids).get());
  }
  std::string TakePrepared() {
    const std::lock_guard lock(mutex_);
    return std::exchange(prepared_, "");
  }

  std::string TakeEvents() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, "");
  }

  std::string prepared_;  // under mutex_
  std::string events_;    // under mutex_
  http::Metrics metrics_;
  std::shared_ptr<BindContext> context_ = std::make_shared<BindContext>();
  std::shared_ptr<GrantBinder> binder_ = std::make_shared<GrantBinder>(
      directory_ + "/kubelet", directory_ + "/state", os::Root(directory_), context_,
      std::make_shared<GrantInbox>(), clock_);
  std::shared_ptr<Allocator> allocator_ = std::make_shared<Allocator>(
      kNpus, std::make_shared<os::Workers>(2), binder_, context_, metrics_,
      [](const Offer&, const std::vector<std::string>&) { return Status(); });
};

TEST_F(AllocatorPartsTest, AllocatePromisesOneNameForBoth) {
  const auto grant = kubelet::Answered(*allocator_, {"0::0"});

  ASSERT_TRUE(grant) << grant.error().message;
  const std::string name = grant->annotations.at(kGrantAnnotation);
  EXPECT_TRUE(IsGrantName(name)) << name;
  EXPECT_EQ(*grant, (Grant{.envs = {},
                           .mounts = {},
                           .devices = {},
                           .annotations = {{kGrantAnnotation, name},
                                           {kPreparedAnnotation, name},
                                           {kPartsAnnotation, kPartsAsked}},
                           .cdi_devices = {"fixture.com/grant=" + name}}));
}

TEST_F(AllocatorPartsTest, AContainerGetsTheSchedulersPartNotThatOfKubeletsIds) {
  KnowQuarter("uid-1", "1");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);

  EXPECT_EQ(PreStart({"0::0"}), "");

  EXPECT_EQ(TakePrepared(), "16384 of 1 for uid-1; ");
  EXPECT_EQ(DocumentOf(kOne),
            std::string("fixture.com/grant=") + kOne + ": SLOT=/dev/slot1 /dev/manager /dev/slot1");
  EXPECT_EQ(Held(), std::string(kNpus) + "/1 ");
}

TEST_F(AllocatorPartsTest, PodsThatStartAtOnceGetTheirOwn) {
  KnowQuarter("uid-1", "0");
  KnowQuarter("uid-2", "1");
  Know("uid-3", {AskingFor("app", 1, 32'768)}, "0,Ascend910B3,32768,0:;",
       R"([{"UUID":"0","temp":"vir10_3c_32g"}])");
  HoldBoth("uid-1", "app", {"1::0"}, kOne);
  HoldBoth("uid-2", "app", {"0::0"}, kOther);
  HoldBoth("uid-3", "app", {"1::1"}, kThirdGrant);

  std::future<Status> first = BeginPreStart({"1::0"});
  std::future<Status> second = BeginPreStart({"0::0"});
  std::future<Status> third = BeginPreStart({"1::1"});

  EXPECT_EQ(Text(first.get()) + Text(second.get()) + Text(third.get()), "");
  const std::string prepared = TakePrepared();
  for (const char* one :
       {"16384 of 0 for uid-1; ", "16384 of 1 for uid-2; ", "32768 of 0 for uid-3; "}) {
    EXPECT_NE(prepared.find(one), std::string::npos) << prepared;
  }
}

TEST_F(AllocatorPartsTest, SeveralChipsAreWhole) {
  Know("uid-1", {AskingFor("app", 2, 0)}, "1,Ascend910B3,65536,0:0,Ascend910B3,65536,0:;",
       R"([{"UUID":"1"},{"UUID":"0"}])");
  HoldBoth("uid-1", "app", {"0::0", "0::1"}, kOne);

  EXPECT_EQ(PreStart({"0::0", "0::1"}), "");

  EXPECT_EQ(TakePrepared(), "65536 of 0 for uid-1; 65536 of 1 for uid-1; ");
}

TEST_F(AllocatorPartsTest, AContainerThatStartsAgainKeepsItsPart) {
  KnowQuarter("uid-1", "1");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);
  EXPECT_EQ(PreStart({"0::0"}), "");
  TakePrepared();
  KnowQuarter("uid-1", "0");  // forged, or changed by mistake
  ASSERT_TRUE(os::RemoveFile(directory_ + "/cdi/" + GrantFileName(kOne)));

  EXPECT_EQ(PreStart({"0::0"}), "");

  EXPECT_EQ(TakePrepared(), "");
  EXPECT_EQ(DocumentOf(kOne),
            std::string("fixture.com/grant=") + kOne + ": SLOT=/dev/slot1 /dev/manager /dev/slot1");
}

TEST_F(AllocatorPartsTest, WhatIsPreparedStaysUntilKubeletForgetsThePod) {
  KnowQuarter("uid-1", "1");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);
  EXPECT_EQ(PreStart({"0::0"}), "");
  EXPECT_EQ(backend_->Calls(), "prepare 1");
  preparations_->RemoveForgotten();
  clock_.Advance(Preparations::kForgotten * 10);
  preparations_->RemoveForgotten();
  EXPECT_EQ(backend_->Calls(), "") << "however idle it is";

  ForgetForGood();
  AwaitNothingLeft();

  EXPECT_EQ(backend_->Calls(), std::string("unprepare 1 /run/fixture/") + kOne);
  EXPECT_EQ(DocumentOf(kOne), "no document");
}

// The real kind with the simulated driver.
TEST_F(AllocatorPartsTest, AVnpuOfTheDriversIsMadeAndDestroyedWithThePod) {
  const ascend::AscendNode node(directory_, ascend::Eight910b3());
  os::Loop loop;
  const auto backend = std::make_shared<AscendBackend>(
      kNpus, AscendConfig{.profile = "Ascend910B3", .vgpu = hami::AscendRow("Ascend910B3")},
      os::Root(directory_), directory_ + "/state", loop, SystemClock(), AscendBackend::Times());
  const std::vector<Device> chips = backend->Scan().value();
  Inventory inventory;
  for (const Device& chip : chips) inventory.devices.push_back(chip);
  const std::string die = inventory.devices[5].key.id;
  offer_ = Divide(kNpus, {{Division::kVgpu, 4, Separator::kColons}}, inventory, kNpus,
                  [](const Device&) { return std::optional<Error>(); });
  Serve(backend, kNpus);
  allocator_->Set({.offer = std::make_shared<Offer>(offer_),
                   .rendering = rendering_,
                   .backend = backend,
                   .cdi_dir = directory_ + "/cdi",
                   .described = std::make_shared<cdi::Parts>(),
                   .preparations = preparations_});
  KnowQuarter("uid-1", die);
  HoldBoth("uid-1", "app", {inventory.devices[0].key.id + "::0"}, kOne);

  EXPECT_EQ(PreStart({inventory.devices[0].key.id + "::0"}), "");

  EXPECT_EQ(node.Vnpus(), std::vector<std::string>{"187 vir05_1c_16g"});
  EXPECT_EQ(DocumentOf(kOne), std::string("fixture.com/grant=") + kOne +
                                  ": /dev/davinci187 /dev/davinci_manager /dev/devmm_svm "
                                  "/dev/hisi_hdc");
  ForgetForGood();
  AwaitNothingLeft();
  EXPECT_EQ(node.Vnpus(), std::vector<std::string>());
}

TEST_F(AllocatorPartsTest, NothingIsPreparedForAPodThatTheSchedulerDidNotPlace) {
  kube::Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "p", .node = "worker-1"};
  pod.containers = {AskingFor("app", 1, 10'000)};
  context_->pods.Put(pod);
  HoldBoth("uid-1", "app", {"0::0"}, kOne);

  EXPECT_EQ(PreStart({"0::0"}),
            "not-placed: pod team/p: no scheduler has chosen GPUs for it: it has no annotation "
            "hami.io/Ascend910B3-devices-allocated");

  EXPECT_EQ(TakePrepared(), "");
  EXPECT_EQ(DocumentOf(kOne), "no document");
}

TEST_F(AllocatorPartsTest, AFailureAfterTheBindingIsToldWithItsPod) {
  KnowQuarter("uid-1", "1");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);
  backend_->yields = Fail(Reason::kUnavailable, "the driver made none");
  const Error why{Reason::kNotPrepared,
                  "huawei.com/Ascend910B3: device 1 could not be made ready: the driver made none"};

  EXPECT_EQ(PreStart({"0::0"}), "not-prepared: " + why.message);

  EXPECT_EQ(TakeEvents(), "uid-1/app " + why.Text() + "; ");
  const RecordedRefusal refusal = context_->events.RecordedRefusals().at(0);
  EXPECT_EQ(refusal.pod, "team/pod-uid-1");
  EXPECT_EQ(refusal.container, "app");
  EXPECT_EQ(refusal.error, why);
  EXPECT_FALSE(refusal.over);

  backend_->yields.reset();
  EXPECT_EQ(PreStart({"0::0"}), "");
  EXPECT_TRUE(context_->events.RecordedRefusals().at(0).over);
}

TEST_F(AllocatorPartsTest, AChipThatIsFullTakesNoFurtherPart) {
  Know("uid-1", {AskingFor("app", 1, 0)}, "0,Ascend910B3,65536,0:;", R"([{"UUID":"0"}])");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);
  EXPECT_EQ(PreStart({"0::0"}), "");
  KnowQuarter("uid-2", "0");
  HoldBoth("uid-2", "app", {"0::1"}, kOther);

  EXPECT_EQ(PreStart({"0::1"}),
            "no-room: huawei.com/Ascend910B3: device 0 has 65536 MiB; 65536 MiB and 0 percent of "
            "its compute time are taken, and 16384 MiB and 0 percent more do not fit");
}

TEST_F(AllocatorPartsTest, ContainersOfAPodWithTheSameIdsNeedTheSamePart) {
  kube::Container init = AskingFor("init", 1, 10'000);
  init.kind = kube::Container::Kind::kInit;
  Know("uid-1", {init, AskingFor("app", 1, 10'000)},
       "0,Ascend910B3,16384,0:;1,Ascend910B3,16384,0:;",
       R"([{"UUID":"0","temp":"vir05_1c_16g"},{"UUID":"1","temp":"vir05_1c_16g"}])");
  HoldBoth("uid-1", "init", {"0::0"}, kOne);
  HoldBoth("uid-1", "app", {"0::0"}, kOther);

  EXPECT_EQ(PreStart({"0::0"}),
            "bad-decision: huawei.com/Ascend910B3: containers of pod uid-1 have the same ids and "
            "different devices or sizes: let one container of the pod ask for them");

  EXPECT_EQ(TakePrepared(), "");
  const std::string events = TakeEvents();
  EXPECT_TRUE(events.starts_with("uid-1/") && events.ends_with(" for good; ")) << events;
  EXPECT_EQ(context_->events.RecordedRefusals().at(0).pod, "team/pod-uid-1");
}

TEST_F(AllocatorPartsTest, WithHuaweisRuntimeTheDocumentHasItsVariables) {
  rendering_.env = "ASCEND_VISIBLE_DEVICES";
  rendering_.fractions->prepared = false;
  rendering_.fractions->enforcer = &ascend::RuntimeVariables();
  SetSnapshot(nullptr);
  KnowQuarter("uid-1", "1");
  HoldBoth("uid-1", "app", {"0::0"}, kOne);
  Know("uid-2", {AskingFor("app", 2, 0)}, "1,Ascend910B3,65536,0:0,Ascend910B3,65536,0:;",
       R"([{"UUID":"1"},{"UUID":"0"}])");

  EXPECT_EQ(PreStart({"0::0"}), "");

  EXPECT_EQ(TakePrepared(), "");
  EXPECT_EQ(DocumentOf(kOne), std::string("fixture.com/grant=") + kOne +
                                  ": ASCEND_VISIBLE_DEVICES=1 ASCEND_VNPU_SPECS=vir05_1c_16g "
                                  "/dev/manager");
}

TEST_F(AllocatorPartsTest, TheRuntimeGetsTheChipsInTheAnnotationsOrder) {
  rendering_.env = "ASCEND_VISIBLE_DEVICES";
  rendering_.fractions->prepared = false;
  rendering_.fractions->enforcer = &ascend::RuntimeVariables();
  SetSnapshot(nullptr);
  Know("uid-1", {AskingFor("app", 2, 0)}, "1,Ascend910B3,65536,0:0,Ascend910B3,65536,0:;",
       R"([{"UUID":"1"},{"UUID":"0"}])");
  HoldBoth("uid-1", "app", {"0::0", "1::0"}, kOne);

  EXPECT_EQ(PreStart({"0::0", "1::0"}), "");

  EXPECT_EQ(DocumentOf(kOne),
            std::string("fixture.com/grant=") + kOne + ": ASCEND_VISIBLE_DEVICES=1,0 /dev/manager");
}

}  // namespace
}  // namespace tessera::agent
