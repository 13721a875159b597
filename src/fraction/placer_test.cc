// SPDX-License-Identifier: Apache-2.0
// Used capacity during decisions: for many grants at once, and for unreadable records.
#include "fraction/placer.h"

#include <unistd.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "fraction/grant_requests_under_test.h"
#include "hami/vendor.h"

namespace tessera {
namespace {

constexpr char kThirdGrant[] = "00000000000000000000000000000003";

class PlacerTest : public GrantRequestsTest {
 protected:
  // Binds all ids at the same time.
  std::vector<std::string> BindAtOnce(const std::vector<std::string>& ids) {
    std::vector<std::string> results(ids.size());
    std::latch all_there(static_cast<std::ptrdiff_t>(ids.size()));
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < ids.size(); ++i) {
      threads.emplace_back([&, i] {
        all_there.arrive_and_wait();
        results[i] = Bind({ids[i]});
      });
    }
    threads.clear();
    return results;
  }
};

TEST_F(PlacerTest, OfManyAtOnceNoMoreAreGrantedThanThereIsRoomFor) {
  SetParts(100);
  rendering_.fractions->requests = hami::kNvidia.Requests();
  context_->events.SetListener(nullptr);
  constexpr int kPods = 20;
  std::vector<std::string> ids;
  for (int i = 0; i < kPods; ++i) {
    const std::string uid = fmt::format("uid-{}", i);
    ids.push_back(Share(0, i));
    Hold(uid, "app", {ids.back()}, AnswerNaming(NewGrantName()));
    Know(uid, {Asking("app", 130, 10)}, Chosen(0, 130, 10) + ";");
  }

  const std::vector<std::string> results = BindAtOnce(ids);

  EXPECT_EQ(std::ranges::count(results, ""), 7);
  EXPECT_EQ(std::ranges::count_if(
                results, [](const std::string& why) { return why.starts_with("no-room:"); }),
            13);
  EXPECT_EQ(os::ListDirectory(directory_ + "/state/grants").value().size(), 7U);
  EXPECT_EQ(os::ListDirectory(directory_ + "/cdi").value().size(), 7U);
}

TEST_F(PlacerTest, SharesOfAPodCountBesideWhatWasDecidedForItAsAWhole) {
  Hold("uid-1", "one", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("one", 200, 20), Asking("two", 100, 10)},
       Chosen(0, 200, 20) + ";" + Chosen(0, 100, 10) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  // A reload made equal parts when kubelet asked for the second container.
  const std::string promise = Field(4, Field(1, kPartsAnnotation) + Field(2, Gpu(0) + "=500:50"));
  Hold("uid-1", "two", {Share(0, 1)}, AnswerNaming(kOther) + promise);
  ASSERT_EQ(Bind({Share(0, 1)}), "");
  ASSERT_EQ(LimitsOf(kOther), "CUDA_DEVICE_MEMORY_LIMIT_0=500m CUDA_DEVICE_SM_LIMIT=50 ");

  Hold("uid-2", "app", {Share(0, 2)}, AnswerNaming(kThirdGrant));
  Know("uid-2", {Asking("app", 300, 10)}, Chosen(0, 300, 10) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB; 800 MiB and 80 percent "
                        "of its compute time are taken, and 300 MiB and 10 percent more do not fit",
                        Gpu(0)));
}

TEST_F(PlacerTest, OfACardThatAContainerHasWholeNoPartIsGranted) {
  Hold("uid-1", "app", {Share(1, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 200, 20)}, Chosen(0, 200, 20) + ";");
  offer_.plan.kept[Gpu(0)] = {Gpu(0)};

  EXPECT_EQ(Bind({Share(1, 0)}),
            fmt::format("no-room: nvidia.com/gpu: a container has device {} whole, from before it "
                        "was divided",
                        Gpu(0)));

  offer_.plan.kept.clear();
  EXPECT_EQ(Bind({Share(1, 0)}), "");
}

TEST_F(PlacerTest, WhoeverAsksTwiceAtOnceHasOneGrantOrNone) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 800, 30)}, Chosen(0, 800, 30) + ";");
  const std::vector<std::string> twice(8, Share(0, 0));
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/state/grants.lock", 0700));
  for (const std::string& why : BindAtOnce(twice)) EXPECT_EQ(why.substr(0, 3), "io:");
  EXPECT_EQ(LimitsOf(kOne), "no document");

  ASSERT_TRUE(os::RemoveTree(directory_ + "/state/grants.lock"));
  EXPECT_EQ(BindAtOnce(twice), std::vector<std::string>(8));
  EXPECT_EQ(std::ranges::count(told_, "uid-1 app has " + Chosen(0, 800, 30) + ";"), 1);
}

TEST_F(PlacerTest, WhatCouldNotBeRecordedIsInNoDocument) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 800, 30)}, Chosen(0, 800, 30) + ";");
  // Nothing can take the place of a directory; it is not listed as a record.
  const std::string temporary =
      fmt::format("{}/state/grants/{}.json.tmp{}", directory_, kOne, getpid());
  ASSERT_TRUE(os::MakeDirectories(temporary, 0700));

  EXPECT_EQ(Bind({Share(0, 0)}), "io: cannot remove " + temporary + ": Is a directory");
  EXPECT_EQ(LimitsOf(kOne), "no document");
  EXPECT_EQ(told_, std::vector<std::string>{"uid-1 app is refused: io"});

  ASSERT_TRUE(os::RemoveTree(temporary));
  EXPECT_EQ(Bind({Share(0, 0)}), "");
}

TEST_F(PlacerTest, WhereWhatAnotherPodHasCannotBeReadItsCardsAreFull) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  const std::string record = os::ReadFile(path).value();
  ASSERT_TRUE(os::ReplaceFile(path, "{}", 0600));

  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  const auto next = NewBinder();
  const std::string why = fmt::format(
      "nvidia.com/gpu: device {} may have no room left: the share of container app of pod uid-1 on "
      "it is unknown: {} does not say what the container was granted: it is not a grant's record",
      Gpu(0), path);
  EXPECT_EQ(BindBy(*next, {Share(0, 1)}).error(), (Error{Reason::kNoRoom, why}));
  EXPECT_TRUE(next->AnyLacksCapacity());

  Hold("uid-3", "app", {Share(1, 1)}, AnswerNaming(kThirdGrant));
  Know("uid-3", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_TRUE(BindBy(*next, {Share(1, 1)})) << "of the other card all is known";

  ASSERT_TRUE(os::ReplaceFile(path, record, 0600));
  EXPECT_TRUE(BindBy(*next, {Share(0, 1)}));
}

TEST_F(PlacerTest, WhereNobodyKnowsAPodWhoseRecordCannotBeReadNoCardHasRoom) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  const std::string path = fmt::format("{}/state/grants/{}.json", directory_, kOne);
  ASSERT_TRUE(os::MakeDirectories(path, 0700));
  Hold("uid-2", "app", {Share(1, 0)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 300, 30)}, Chosen(1, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(1, 0)}).substr(0, 8), "no-room:");

  Know("uid-1", {Asking("app", 300, 30)}, Chosen(0, 300, 30) + ";");
  EXPECT_EQ(Bind({Share(1, 0)}), "");
}

TEST_F(PlacerTest, WhatAllocatePromisedCountsThoughItsRecordCannotBeRead) {
  const std::string promise = Field(4, Field(1, kPartsAnnotation) + Field(2, Gpu(0) + "=500:50"));
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne) + promise);
  ASSERT_TRUE(os::MakeDirectories(fmt::format("{}/state/grants/{}.json", directory_, kOne), 0700));
  Hold("uid-2", "app", {Share(0, 1)}, AnswerNaming(kOther));
  Know("uid-2", {Asking("app", 501, 30)}, Chosen(0, 501, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 1)}),
            fmt::format("no-room: nvidia.com/gpu: device {} has 1000 MiB; 500 MiB and 50 percent "
                        "of its compute time are taken, and 501 MiB and 30 percent more do not fit",
                        Gpu(0)));

  Hold("uid-3", "app", {Share(0, 2)}, AnswerNaming(kThirdGrant));
  Know("uid-3", {Asking("app", 500, 30)}, Chosen(0, 500, 30) + ";");
  EXPECT_EQ(Bind({Share(0, 2)}), "");
}

TEST_F(PlacerTest, OfACardOfUnknownMemoryNothingIsGrantedThatAPodAsksFor) {
  rendering_.fractions->requests->fit_unplaced = true;
  Inventory inventory;
  Device unknown = offer_.devices[0];
  unknown.memory = 0;
  inventory.devices.push_back(unknown);
  offer_ = Divide(kGpu, {{Division::kVgpu, 10, Separator::kDash}}, inventory, kGpu,
                  [](const Device&) { return std::optional<Error>(); });
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  Know("uid-1", {Asking("app", 300, 10)}, "");

  EXPECT_EQ(Bind({Share(0, 0)}).substr(0, 11), "unreadable:");
}

}  // namespace
}  // namespace tessera
