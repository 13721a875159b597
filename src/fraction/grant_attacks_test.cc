// SPDX-License-Identifier: Apache-2.0
// Attempts to start a container with another container's limits or capacity.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <optional>
#include <thread>

#include "fraction/grant_requests_under_test.h"
#include "hami/vendor.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;

constexpr char kBig[] = "nvidia.com/big";
constexpr char kThird[] = "00000000000000000000000000000003";

class GrantAttacksTest : public GrantRequestsTest {
 protected:
  // As Hold, for another resource.
  void HoldOf(const char* resource, const std::string& pod, const std::string& container,
              std::vector<std::string> ids, const std::string& answer) {
    Hold(pod, container, std::move(ids), answer);
    checkpoint_.entries.back().resource = resource;
    Save();
  }
  // As Bind, for that resource.
  std::string BindOf(const char* resource, const std::vector<std::string>& ids) {
    const std::string former = std::exchange(offer_.resource, resource);
    std::string bound = Bind(ids);
    offer_.resource = former;
    return bound;
  }
  void SetDevices(const std::vector<Device>& devices) {
    Inventory inventory;
    for (const Device& device : devices) inventory.devices.push_back(device);
    offer_ = Divide(kGpu, {{Division::kVgpu, 10, Separator::kDash}}, inventory, kGpu,
                    [](const Device&) { return std::optional<Error>(); });
  }
  void Say(const std::string& uid, kube::Pod::Phase phase, bool init_succeeded) {
    kube::Pod pod = *context_->pods.Find(uid);
    pod.phase = phase;
    for (kube::Container& container : pod.containers) {
      container.succeeded = init_succeeded && container.kind == Kind::kInit;
    }
    context_->pods.Put(pod);
    pods_[uid] = context_->pods.Find(uid);
  }
  // The refusal of a pod with one container that asks for 300 MiB and 30 percent.
  std::string WithAnnotation(const std::string& allocated) {
    Know("uid-1", {Asking("app", 300, 30)}, allocated);
    return Bind({Share(0, 0)});
  }
  void Forget() {
    RemoveForgotten();
    clock_.Advance(Duration(60'000));
    RemoveForgotten();
  }
  std::string OnHost(const std::string& directory) const {
    return directory_ + "/usr/local/vgpu/containers/" + directory;
  }
};

TEST_F(GrantAttacksTest, WhatIsForgedOnThePodIsNotGranted) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  const std::string gpu = Gpu(0);
  const std::vector<std::string> forged = {
      gpu + ",NVIDIA,-1,30:;",
      gpu + ",NVIDIA,0,30:;",
      gpu + ",NVIDIA,301,30:;",
      gpu + ",NVIDIA,4294967596,30:;",
      gpu + ",NVIDIA,0x10,30:;",
      gpu + ",NVIDIA,300 ,30:;",
      gpu + ",NVIDIA,300,0:;",
      gpu + ",NVIDIA,300,-30:;",
      gpu + ",NVIDIA,300,31:;",
      gpu + ",NVIDIA,300,4294967326:;",
      gpu + "-0,NVIDIA,300,30:;",
      " " + gpu + ",NVIDIA,300,30:;",
      "GPU-of-another-resource,NVIDIA,300,30:;",
      "../../" + gpu + ",NVIDIA,300,30:;",
      gpu + ",NVIDIA,150,15:" + gpu + ",NVIDIA,150,15:;",   // the same card twice
      Chosen(0, 300, 30) + Chosen(1, 300, 30) + ";",        // one card too many
      Chosen(0, 300, 30) + ";" + Chosen(1, 300, 30) + ";",  // for a container that does not ask
      ";;;",
      ",NVIDIA,300,30:;",
      ":;",
      gpu,
      gpu + ",NVIDIA,300:;",
      std::string(200'000, ';'),
      std::string(200'000, ':'),
      std::string(200'000, 'A') + ",NVIDIA,300,30:;",
  };
  for (const std::string& allocated : forged) {
    const std::string why = WithAnnotation(allocated);
    EXPECT_EQ(why.substr(0, 13), "bad-decision:") << allocated.substr(0, 100);
    EXPECT_LT(why.size(), 1000U);
  }
  EXPECT_EQ(LimitsOf(kOne), "no document");
  EXPECT_FALSE(os::Exists(OnHost("uid-1_app")));
  EXPECT_EQ(told_.size(), forged.size());
  EXPECT_EQ(told_[0], "uid-1 app is refused for good: bad-decision");

  EXPECT_EQ(WithAnnotation(";;" + Chosen(0, 300, 30) + ";;"), "");
}

TEST_F(GrantAttacksTest, WhatAnotherPodOrNodeWasGivenIsNotTaken) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  kube::Pod pod = *pods_["uid-1"];
  for (const char* node : {"", "worker-2", "worker-1 ", "Worker-1"}) {
    pod.annotations["hami.io/vgpu-node"] = node;
    pods_["uid-1"] = std::make_shared<const kube::Pod>(pod);
    EXPECT_EQ(Bind({Share(0, 0)}).substr(0, 11), "not-placed:") << node;
  }
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(GrantAttacksTest, AFactorThatNoNumberHoldsGrantsNothing) {
  rendering_.fractions->requests->memory_factor = 1 << 20;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 4096, 30)}, Chosen(0, 1, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}).substr(0, 13), "bad-decision:");
}

TEST_F(GrantAttacksTest, SharesOfOneCardAreNotMoreThanCanBeCounted) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "app", {Share(0, 0), Share(0, 1)}, AnswerNaming(kOne));
  kube::Container greedy = Asking("app", 2'147'483'647, 10);
  greedy.limits[kGpu] = "2";
  Know("uid-1", {greedy}, "");

  EXPECT_EQ(Bind({Share(0, 0), Share(0, 1)}),
            fmt::format("bad-size: pod team/pod-uid-1, container app: its request cannot be "
                        "granted: 4294967294 MiB of {} is not a valid part of a card",
                        Gpu(0)));
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(GrantAttacksTest, OfACardOfUnknownMemoryNoPartIsNoLimit) {
  rendering_.fractions->requests->fit_unplaced = true;
  Device unknown = offer_.devices[0];
  unknown.memory = 0;
  SetDevices({unknown});
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  kube::Container all = Asking("app", 0, 10);
  all.limits.erase("nvidia.com/gpumem");
  Know("uid-1", {all}, "");

  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("bad-size: pod team/pod-uid-1, container app: its request cannot be "
                        "granted: 0 MiB of {} is not a valid part of a card",
                        Gpu(0)));
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(GrantAttacksTest, WhatAPodHasOfTwoResourcesCountsForBoth) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  HoldOf(kBig, "uid-1", "two", {Share(1, 0)}, AnswerNaming(kOther));
  HoldOf(kBig, "uid-2", "app", {Share(1, 1)}, AnswerNaming(kThird));
  const auto of_big = [](const std::string& name, int memory) {
    kube::Container container = Asking(name, memory, 10);
    container.limits.erase(kGpu);
    container.limits[kBig] = "1";
    return container;
  };
  Know("uid-1", {Asking("one", 800, 10), of_big("two", 800)}, "");
  Know("uid-2", {of_big("app", 300)}, "");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  // The pod after the first container was reported to HAMi's scheduler.
  Know("uid-1", pods_["uid-1"]->containers, Chosen(0, 800, 10) + ";");
  ASSERT_EQ(BindOf(kBig, {Share(1, 0)}), "");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=800m CUDA_DEVICE_SM_LIMIT=10 ");

  EXPECT_EQ(BindOf(kBig, {Share(1, 1)}),
            fmt::format("no-room: nvidia.com/big: device {} has 1000 MiB; 800 MiB and 10 percent "
                        "of its compute time are taken, and 300 MiB and 10 percent more do not fit",
                        Gpu(1)));
}

TEST_F(GrantAttacksTest, AContainerWithVirtualGpusOfTwoResourcesIsNotMade) {
  rendering_.fractions->requests->fit_unplaced = true;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  HoldOf(kBig, "uid-1", "app", {Share(1, 0)}, AnswerNaming(kOther));
  kube::Container both = Asking("app", 300, 30);
  both.limits[kBig] = "1";
  Know("uid-1", {both}, "");

  const std::string why =
      "not-enforced: container app of pod uid-1 has virtual GPUs of nvidia.com/big and "
      "nvidia.com/gpu, but only those of one resource can be limited";
  EXPECT_EQ(Bind({Share(0, 0)}), why);
  EXPECT_EQ(BindOf(kBig, {Share(1, 0)}), why);
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

TEST_F(GrantAttacksTest, APodThatIsSaidToHaveEndedBeforeItBeganNeedsRoom) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  Know("uid-2", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  Say("uid-2", kube::Pod::Phase::kFailed, false);
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
}

TEST_F(GrantAttacksTest, AnInitContainerThatRunsAgainNeedsItsRoomAnew) {
  Hold("uid-1", "init", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kThird));
  Know("uid-1", {Asking("init", 800, 10, Kind::kInit), Asking("app", 200, 10)},
       Chosen(0, 800, 10) + ";" + Chosen(0, 200, 10) + ";");
  Know("uid-2", {Asking("app", 700, 10)}, Chosen(0, 700, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Say("uid-1", kube::Pod::Phase::kRunning, true);
  ASSERT_EQ(Bind({Share(0, 2)}), "");

  EXPECT_EQ(Bind({Share(0, 0)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB; 700 MiB and 10 percent "
                        "of its compute time are taken, and 800 MiB and 10 percent more do not fit",
                        Gpu(0)));
  EXPECT_EQ(Bind({Share(0, 1)}), "");  // has had its room all the time
  Say("uid-2", kube::Pod::Phase::kSucceeded, false);
  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(GrantAttacksTest, OneThatRunsAgainCountsThoughItIsStillSaidToHaveEnded) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  Say("uid-1", kube::Pod::Phase::kSucceeded, false);
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
  Say("uid-1", kube::Pod::Phase::kRunning, false);
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
  Say("uid-1", kube::Pod::Phase::kSucceeded, false);
  EXPECT_EQ(Bind({Share(0, 1)}), "");
}

TEST_F(GrantAttacksTest, APodThatTheApiServerHasLostCountsAsLongAsKubeletHasIt) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  context_->Remove(*pods_["uid-1"]);
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
}

TEST_F(GrantAttacksTest, ContainersThatShareAnIdHaveTheirOwnLimitsEach) {
  Hold("uid-1", "init", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "side", {Share(0, 0)}, AnswerNaming(kOther));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kThird));
  Know("uid-1",
       {Asking("init", 500, 50, Kind::kInit), Asking("side", 100, 10, Kind::kSidecar),
        Asking("app", 300, 30)},
       Chosen(0, 500, 50) + ";" + Chosen(0, 100, 10) + ";" + Chosen(0, 300, 30) + ";");

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=100m CUDA_DEVICE_SM_LIMIT=10 ");
  EXPECT_EQ(LimitsOf(kThird), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=30 ");
}

TEST_F(GrantAttacksTest, ANameThatLeadsOutOfTheDirectoryIsRefused) {
  Hold("uid-1", "../../../etc/x", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("../../../etc/x", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 0)}),
            "grant-unknown: container ../../../etc/x of pod uid-1: one of the two names cannot "
            "name a directory");

  Hold("..", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("..", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 1)}),
            "grant-unknown: container app of pod ..: one of the two names cannot name a directory");
}

TEST_F(GrantAttacksTest, ALinkInPlaceOfTheContainersDirectoryIsPutAsideAndNotFollowed) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/outside", 0755));
  ASSERT_TRUE(os::MakeDirectories(OnHost(""), 0700));
  ASSERT_EQ(symlink((directory_ + "/outside").c_str(), OnHost("uid-1_app").c_str()), 0);

  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(os::Inspect(directory_ + "/outside").value().mode, 0755U);
  EXPECT_EQ(os::ListDirectory(directory_ + "/outside").value(), std::vector<std::string>{});
  EXPECT_EQ(os::Inspect(OnHost("uid-1_app")).value().type, os::FileInfo::Type::kDirectory);
}

TEST_F(GrantAttacksTest, LinksThatAContainerLeavesAreNotFollowedWhenItIsRemoved) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/usr/local/vgpu/theirs", "kept", 0644));
  ASSERT_EQ(symlink(OnHost("..").c_str(), OnHost("uid-1_app/up").c_str()), 0);

  checkpoint_.entries.clear();
  Save();
  Forget();
  EXPECT_FALSE(os::Exists(OnHost("uid-1_app")));
  EXPECT_EQ(os::ReadFile(directory_ + "/usr/local/vgpu/theirs"), "kept");
}

TEST_F(GrantAttacksTest, TheDirectoryOfAContainerThatLivesStaysWhenItsFormerGrantGoes) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  // kubelet has lost its checkpoint and asks again.
  checkpoint_.entries.clear();
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOther));
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  ASSERT_TRUE(os::ReplaceFile(OnHost("uid-1_app/cache"), "the container's", 0644));

  Forget();
  EXPECT_EQ(LimitsOf(kOne), "no document");
  EXPECT_EQ(os::ReadFile(OnHost("uid-1_app/cache")), "the container's");
  checkpoint_.entries.clear();
  Save();
  Forget();
  EXPECT_FALSE(os::Exists(OnHost("uid-1_app")));
}

TEST_F(GrantAttacksTest, TheDirectoriesOfThePodsOtherContainersStayWhenOneGoes) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app2", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 300, 30), Asking("app2", 300, 30)},
       Chosen(0, 300, 30) + ";" + Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 1)}), "");

  checkpoint_.entries.erase(checkpoint_.entries.begin());
  Save();
  Forget();
  EXPECT_FALSE(os::Exists(OnHost("uid-1_app")));
  EXPECT_TRUE(os::Exists(OnHost("uid-1_app2")));
}

TEST_F(GrantAttacksTest, InstancesThatGrantAtOnceGrantNoMoreThanThereIs) {
  SetParts(100);
  rendering_.fractions->requests = hami::kNvidia.Requests();
  context_->events.SetListener(nullptr);
  constexpr int kRounds = 20;
  const auto other = NewBinder();
  for (int round = 0; round < kRounds; ++round) {
    checkpoint_.entries.clear();
    for (int i = 0; i < 2; ++i) {
      const std::string uid = fmt::format("uid-{}-{}", round, i);
      Hold(uid, "app", {Share(0, i)}, AnswerNaming(NewGrantName()));
      Know(uid, {Asking("app", 600, 10)}, Chosen(0, 600, 10) + ";");
    }
    std::latch both(2);
    int granted = 0;
    bool second = false;
    std::thread thread([&] {
      both.arrive_and_wait();
      second = BindBy(*other, {Share(0, 1)}).has_value();
    });
    both.arrive_and_wait();
    if (Bind({Share(0, 0)}).empty()) ++granted;
    thread.join();
    if (second) ++granted;
    ASSERT_EQ(granted, 1) << "round " << round;
  }
}

TEST_F(GrantAttacksTest, WhileAnotherInstanceGrantsNothingNewIsGranted) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  const std::string path = directory_ + "/state/grants.lock";
  const auto held = os::FileLock::Take(path);
  ASSERT_TRUE(held);
  EXPECT_EQ(Bind({Share(0, 1)}), "state-locked: " + path + " is locked by another process");
  EXPECT_EQ(Bind({Share(0, 0)}), "");  // as it was granted before
}

TEST_F(GrantAttacksTest, WhoIsKilledBetweenTheRecordAndTheRestHasDecided) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_TRUE(os::RemoveFile(directory_ + "/cdi/" + GrantFileName(kOne)));
  ASSERT_TRUE(os::RemoveTree(OnHost("uid-1_app")));

  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 200, 20) + ";");
  const auto next = NewBinder();
  EXPECT_TRUE(BindBy(*next, {Share(0, 0)}));
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=300m CUDA_DEVICE_SM_LIMIT=30 ");
  EXPECT_TRUE(os::Exists(OnHost("uid-1_app")));
}

TEST_F(GrantAttacksTest, WhereThePodsDecisionCannotBeReadNoOtherOneIsMade) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  const std::vector<kube::Container> containers = {Asking("one", 300, 30), Asking("two", 300, 30)};
  Know("uid-1", containers, Chosen(0, 300, 30) + ";" + Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  ASSERT_TRUE(os::ReplaceFile(path, "{}", 0600));

  Know("uid-1", containers, Chosen(1, 300, 30) + ";" + Chosen(1, 300, 30) + ";");
  const auto next = NewBinder();
  const Status bound = BindBy(*next, {Share(0, 1)});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().message,
            path + " does not say what the container was granted: it is not a grant's record");
}

TEST_F(GrantAttacksTest, AReloadToEqualSizesLeavesDecisionsAloneAndCountsThem) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("one", 800, 80), Asking("two", 100, 10)},
       Chosen(0, 800, 80) + ";" + Chosen(0, 100, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  SetParts(2);
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  EXPECT_EQ(Unknown({Share(0, 1)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=800m CUDA_DEVICE_SM_LIMIT=80 ");
}

TEST_F(GrantAttacksTest, WhatAllocateHadPromisedNeedsNoPodAfterAReload) {
  const std::string promise = Field(4, Field(1, kPartsAnnotation) + Field(2, Gpu(0) + "=500:50"));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne) + promise);

  EXPECT_EQ(Unknown({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");
}

TEST_F(GrantAttacksTest, AReloadThatScalesLessTakesNothingFromWhoRuns) {
  rendering_.fractions->memory_scaling = 2;
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("app", 1900, 30)}, Chosen(0, 1900, 30) + ";");
  Know("uid-2", {Asking("app", 50, 10)}, Chosen(0, 50, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  rendering_.fractions->memory_scaling = 1;
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 8), "no-room:");
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(LimitsOf(kOne), "CUDA_DEVICE_MEMORY_LIMIT_0=1900m CUDA_DEVICE_SM_LIMIT=30 ");
}

TEST_F(GrantAttacksTest, ACardThatFallsSickAfterTheFirstContainerIsNotGivenToTheNext) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-1", {Asking("one", 300, 30), Asking("two", 300, 30)},
       Chosen(0, 300, 30) + ";" + Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");

  offer_.troubles[1] = {Reason::kXid, "XID 79"};
  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, 16), "unhealthy-share:");
  SetDevices({Device(offer_.devices[0])});
  EXPECT_EQ(Bind({"GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42-1"}),
            "vanished: nvidia.com/gpu: device GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43 is not "
            "there");
}

TEST_F(GrantAttacksTest, ACheckpointThatIsGoneOrBrokenGrantsNothingMore) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  const std::string path = directory_ + "/kubelet/kubelet_internal_checkpoint";
  for (const char* text : {"", "{", "[]", "{\"Data\":{\"PodDeviceEntries\":[{}]}}"}) {
    ASSERT_TRUE(os::ReplaceFile(path, text));
    EXPECT_EQ(Bind({Share(0, 0)}).substr(0, 14), "grant-unknown:") << text;
  }
  ASSERT_TRUE(os::RemoveFile(path));
  EXPECT_EQ(Bind({Share(0, 0)}).substr(0, 14), "grant-unknown:");
  EXPECT_EQ(LimitsOf(kOne), "no document");
}

}  // namespace
}  // namespace tessera
