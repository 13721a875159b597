// SPDX-License-Identifier: Apache-2.0
// Attempts to have what is not a container's own where kubelet's checkpoint is of a shape that
// nobody knows: by names of pods and ids that are used again, and by answers that come late.
#include "agent/bind/listed_grants_under_test.h"

namespace tessera::agent {
namespace {

constexpr char kThird[] = "00000000000000000000000000000003";

class ListedAttacksTest : public ListedGrantsTest {
 protected:
  // Another pod of the name that pod `former` had, which is gone.
  void Replace(const std::string& former, const std::string& uid, const std::string& allocated) {
    kube::Pod next = *book_->Find(former);
    book_->Take(next);
    next.uid = uid;
    next.annotations["hami.io/vgpu-devices-allocated"] = allocated;
    book_->Put(next);
    pods_[uid] = book_->Find(uid);
  }
  // With nothing that this one keeps in memory.
  std::string BindByNextAgent(const std::vector<std::string>& ids) {
    const Status bound = BindBy(*NewBinder(), ids);
    return bound ? "" : bound.error().message;
  }
};

TEST_F(ListedAttacksTest, WhatWasPromisedAfterTheListIsNotBoundToWhoHeldItsIdsBefore) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  List("pod-uid-1", "app", {Share(0, 1)});
  KnowByName("uid-1", {Asking("app", 100, 10)}, Chosen(0, 100, 10) + ";");
  // While its call waits, the pod goes, and another one is asked for with the same id.
  clock_.Advance(Duration(1));
  Promise({Share(0, 1)}, kOther);

  EXPECT_EQ(Bind({Share(0, 1)}).substr(0, sizeof kShape - 1), kShape);
  EXPECT_EQ(LimitsOf(kOther), "no document");
  EXPECT_EQ(PodIn(kOther), "none");
}

TEST_F(ListedAttacksTest, OfTwoPodsOfOneNameNeitherIsTakenForTheOther) {
  Lose();
  Promise({Share(0, 1)}, kOne);
  Promise({Share(0, 2)}, kOther);
  List("pod-uid-1", "app", {Share(0, 1)});
  List("pod-uid-1", "app", {Share(0, 2)});
  KnowByName("uid-1", {Asking("app", 900, 90)}, Chosen(0, 900, 90) + ";");

  const std::string why = kShape + std::string(
                                       "its pod-resources API has two of that name: container app "
                                       "of pod team/pod-uid-1");
  EXPECT_EQ(Bind({Share(0, 1)}), why);
  EXPECT_EQ(Bind({Share(0, 2)}), why);
}

TEST_F(ListedAttacksTest, WhatAnotherInstanceBoundCountsThoughThisOnePromisedTheIdsBefore) {
  Promise({Share(0, 1)}, kOne);
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 100, 10)}, Chosen(0, 100, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  checkpoint_.entries.clear();
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Replace("uid-1", "uid-2", Chosen(0, 100, 10) + ";");
  kube::Pod next = *book_->Find("uid-2");
  next.containers = {Asking("app", 800, 10)};
  next.annotations["hami.io/vgpu-devices-allocated"] = Chosen(0, 800, 10) + ";";
  book_->Put(next);
  pods_["uid-2"] = book_->Find("uid-2");
  ASSERT_EQ(BindByNextAgent({Share(0, 1)}), "");

  Lose();
  Promise({Share(0, 2)}, kThird);
  List("pod-uid-1", "app", {Share(0, 1)});
  List("pod-uid-3", "app", {Share(0, 2)});
  KnowByName("uid-3", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}).substr(0, 8), "no-room:");
}

TEST_F(ListedAttacksTest, WhatAFormerPodOfTheNameWasGivenIsNotTheNextOnes) {
  Promise({Share(0, 1)}, kOne);
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30), Asking("two", 300, 30)},
       Chosen(0, 300, 30) + ";" + Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  // The former one's container is still there.
  List("pod-uid-1", "app", {Share(0, 1)});
  List("pod-uid-1", "two", {Share(0, 2)});
  Promise({Share(0, 2)}, kOther);
  Replace("uid-1", "uid-2", Chosen(0, 100, 10) + ";" + Chosen(0, 100, 10) + ";");
  pods_["team/pod-uid-1"] = book_->Find("uid-2");

  EXPECT_EQ(Bind({Share(0, 2)}), "");
  EXPECT_EQ(PodIn(kOther), "uid-2 two");
  EXPECT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=100m CUDA_DEVICE_SM_LIMIT=10 ");
}

TEST_F(ListedAttacksTest, APodThatTheApiServerHasLostCountsWhileTheListHasIt) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 100, 10)}, Chosen(0, 100, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  checkpoint_.entries.clear();
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 800, 10)}, Chosen(0, 800, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  for (const char* uid : {"uid-1", "uid-2"}) book_->Take(*pods_[uid]);

  Promise({Share(0, 2)}, kThird);
  List("pod-uid-2", "app", {Share(0, 1)});
  List("pod-uid-3", "app", {Share(0, 2)});
  KnowByName("uid-3", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}).substr(0, 8), "no-room:");
}

TEST_F(ListedAttacksTest, WhatIsWrittenOnAPodLaterDoesNotStandForItsRecord) {
  Hold("uid-1", "init", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("init", 800, 10, kube::Container::Kind::kInit), Asking("app", 100, 10)},
       Chosen(0, 800, 10) + ";" + Chosen(0, 100, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  Lose();
  // A former agent was asked for the second one.
  List("pod-uid-1", "app", {Share(0, 3)});
  Know("uid-1", pods_["uid-1"]->containers, Chosen(0, 100, 10) + ";" + Chosen(0, 100, 10) + ";");

  Promise({Share(0, 2)}, kThird);
  List("pod-uid-3", "app", {Share(0, 2)});
  KnowByName("uid-3", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}).substr(0, 8), "no-room:");
}

TEST_F(ListedAttacksTest, SharesThatOnePodHadCountOnceThoughTwoHaveThemNow) {
  SetParts(2);
  Lose();
  Promise({Share(0, 0), Share(0, 1)}, kOne, Gpu(0) + "=1000:100");
  List("a", "app", {Share(0, 0), Share(0, 1)});
  ASSERT_EQ(Bind({Share(0, 0), Share(0, 1)}), "");

  list_ = nullptr;
  Promise({Share(0, 0)}, kOther, Half(0));
  Promise({Share(0, 1)}, kThird, Half(0));
  List("b", "app", {Share(0, 0)});
  List("c", "app", {Share(0, 1)});
  EXPECT_EQ(Bind({Share(0, 0)}), "");
  EXPECT_EQ(Bind({Share(0, 1)}), "");
}

TEST_F(ListedAttacksTest, SharesOfPodsThatHaveEndedCountOnce) {
  SetParts(2);
  Lose();
  for (const char* grant : {kOne, kOther}) {
    list_ = nullptr;
    Promise({Share(0, 0)}, grant, Half(0));
    List(std::string("pod-") + grant, "app", {Share(0, 0)});
    EXPECT_EQ(Bind({Share(0, 0)}), "");
  }
  list_ = nullptr;
  Promise({Share(0, 1)}, kThird, Half(0));
  List("last", "app", {Share(0, 1)});
  EXPECT_EQ(Bind({Share(0, 1)}), "");
}

TEST_F(ListedAttacksTest, WhatKubeletCallsByAnotherNameIsNotForgotten) {
  Hold("uid-1", "app", {Share(0, 1)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  for (const char* text :
       {R"({"Data":{"Entries":[],"RegisteredDevices":{}}})",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"app",)"
        R"("ResourceName":"nvidia.com/gpu","DeviceIDs":{},"Answer":""}]}})"}) {
    ASSERT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint", text));
    RemoveForgotten();
    clock_.Advance(Duration(60'000));
    RemoveForgotten();
    EXPECT_NE(LimitsOf(kOne), "no document") << text;
    EXPECT_EQ(PodIn(kOne), "uid-1 app") << text;
  }
}

TEST_F(ListedAttacksTest, WhereNobodyKnowsWhatRecordsThereAreNothingIsBound) {
  SetParts(2);
  Promise({Share(0, 1)}, kOne, Half(0));
  Lose();
  List("a", "app", {Share(0, 1)});
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  const std::string records = directory_ + "/state/grants";
  ASSERT_TRUE(os::RemoveTree(records));
  ASSERT_TRUE(os::ReplaceFile(records, "no directory"));

  EXPECT_EQ(Bind({Share(0, 1)}),
            "grant-unknown: nvidia.com/gpu: kubelet's checkpoint does not say which container this "
            "is: cannot list " +
                records + ": Not a directory");
}

}  // namespace
}  // namespace tessera::agent
