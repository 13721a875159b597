// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_tally.h"

#include <gtest/gtest.h>

#include "fraction/grant_binder_under_test.h"

namespace tessera {
namespace {

class GrantTallyTest : public GrantBinderTest {
 protected:
  GrantedByResource Count() {
    tally_.Count();
    return tally_.last();
  }
  const std::string& Gpu(size_t index) const { return offer_.devices[index].key.id; }

  GrantTally tally_{directory_ + "/kubelet/kubelet_internal_checkpoint", directory_ + "/state",
                    context_};
};

TEST_F(GrantTallyTest, BeforeAnyGrantThereIsNothing) {
  EXPECT_EQ(Count(), GrantedByResource());
}

TEST_F(GrantTallyTest, ContainersOfOnePodThatHaveTheSameShareTakeItOnce) {
  Hold("uid-1", "init", {Share(0, 0)}, AnswerNaming(kOne));
  Hold("uid-1", "app", {Share(0, 0), Share(1, 0)}, AnswerNaming(kOther));
  Hold("uid-2", "app", {Share(1, 1)}, AnswerNaming("00000000000000000000000000000003"));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  ASSERT_EQ(Bind({Share(0, 0), Share(1, 0)}), "");

  EXPECT_EQ(Count(),
            (GrantedByResource{{kGpu,
                                {.containers = 2,
                                 .by_device = {{Gpu(0), {1, 500, 50}}, {Gpu(1), {1, 500, 50}}}}}}));
}

TEST_F(GrantTallyTest, APodThatWasDecidedAsAWholeCountsSo) {
  const PodPlacement placement = {{"init", kube::Container::Kind::kInit, {{Gpu(0), 700, 10}}},
                                  {"app", kube::Container::Kind::kApp, {{Gpu(0), 300, 30}}}};
  BindingStore records(directory_ + "/state");
  for (const char* name : {kOne, kOther}) {
    const auto lock = records.Lock();
    auto prepared = records.StageRecord(name, std::make_shared<const BindingRecord>(BindingRecord{
                                                  .resource = kGpu,
                                                  .pod_uid = "uid-1",
                                                  .container = name == kOne ? "init" : "app",
                                                  .directory = "/d",
                                                  .parts = {{Gpu(0), 300, 30}},
                                                  .placement = placement}));
    ASSERT_TRUE(prepared && records.Add({&*prepared, 1}).at(0));
    Hold("uid-1", name == kOne ? "init" : "app", {Share(0, 0)}, AnswerNaming(name));
  }

  EXPECT_EQ(Count(),
            (GrantedByResource{{kGpu, {.containers = 2, .by_device = {{Gpu(0), {1, 700, 30}}}}}}));
}

TEST_F(GrantTallyTest, WhatKubeletHasForgottenDoesNotCountAndWithoutItsWordTheLastCountStays) {
  Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
  ASSERT_EQ(Bind({Share(0, 0)}), "");
  const GrantedByResource one = Count();
  EXPECT_EQ(one.at(kGpu).containers, 1);

  ASSERT_TRUE(os::ReplaceFile(directory_ + "/kubelet/kubelet_internal_checkpoint", "torn"));
  EXPECT_EQ(Count(), one);

  checkpoint_.entries.clear();
  Save();
  EXPECT_EQ(Count(), GrantedByResource());
}

}  // namespace
}  // namespace tessera
