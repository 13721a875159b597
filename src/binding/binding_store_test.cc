// SPDX-License-Identifier: Apache-2.0
#include "binding/binding_store.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr char kGrant[] = "00000000000000000000000000000001";
constexpr char kResource[] = "nvidia.com/gpu";

TEST(BindingRecord, SurvivesBeingWritten) {
  const BindingRecord record{.resource = kResource,
                             .pod_uid = "uid-1",
                             .container = "app",
                             .directory = "/usr/local/vgpu/containers/1",
                             .parts = {{"GPU-1", 500, 50}, {"GPU-2", 1, 100}},
                             .library = "/usr/local/vgpu/libvgpu.so.0123456789abcdef"};
  EXPECT_EQ(ReadBindingRecord(BindingRecordText(record)), record);
}

TEST(BindingRecord, ADecisionForAWholePodSurvivesToo) {
  const BindingRecord record{
      .resource = kResource,
      .pod_uid = "uid-1",
      .container = "app",
      .directory = "/usr/local/vgpu/containers/uid-1_app",
      .parts = {{"GPU-1", 500, 0}},
      .controlled = false,
      .library = "",
      .placement = {{"prepare", kube::Container::Kind::kInit, {{"GPU-2", 1, 100}}},
                    {"beside", kube::Container::Kind::kSidecar, {{"GPU-1", 2, 0}}},
                    {"app", kube::Container::Kind::kApp, {{"GPU-1", 500, 0}}}},
      .fitted = true,
      .gate = "/usr/local/vgpu/grants/1",
      .ids = {"GPU-1-0", "GPU-1-10"}};
  EXPECT_EQ(ReadBindingRecord(BindingRecordText(record)), record);
}

TEST(BindingRecord, UnitsOfComputeTimeSurviveToo) {
  const BindingRecord record{
      .resource = kResource,
      .pod_uid = "uid-1",
      .container = "app",
      .directory = "/a",
      .parts = {{.device = "GPU-1", .memory = 500, .cores = 5, .units = "0-3,8"}}};
  EXPECT_EQ(ReadBindingRecord(BindingRecordText(record)), record);
}

TEST(BindingRecord, WhatIsNoneIsNoGrant) {
  for (const char* text : {"", "{", "[]", "{}", R"({"version": 2, "parts": []})",
                           R"({"version": 1, "parts": []})", R"({"version": 1, "parts": [1]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 0}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1,
                               "cores": 1}], "decision": [{"kind": "other"}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1,
                               "cores": 1, "units": "3-1"}]})",
                           R"({"version": 1, "parts": [{"device": "GPU-1", "memory": 1,
                               "cores": 1}], "ids": [1]})"}) {
    EXPECT_FALSE(ReadBindingRecord(text)) << text;
  }
}

TEST(NewGrantName, IsAnotherOneEachTime) {
  EXPECT_EQ(NewGrantName().size(), 32U);
  EXPECT_NE(NewGrantName(), NewGrantName());
}

class BindingStoreTest : public testing::Test {
 protected:
  ~BindingStoreTest() override { (void)os::RemoveTree(state_dir_); }

  // The error's text; empty: added.
  std::string Add(BindingStore& records) const {
    const auto lock = records.Lock();
    auto prepared = records.StageRecord(kGrant, std::make_shared<const BindingRecord>(record_));
    if (!prepared) return prepared.error().message;
    const Status status = records.Add({&*prepared, 1}).at(0);
    return status ? "" : status.error().message;
  }

  const std::string state_dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "records");
  const BindingRecord record_{kResource, "uid-1", "app", "/containers/1", {{"GPU-1", 500, 50}}};
  BindingStore store_{state_dir_};
};

TEST_F(BindingStoreTest, AnotherInstanceFindsWhatIsWritten) {
  EXPECT_FALSE(store_.any());
  ASSERT_EQ(Add(store_), "");

  BindingStore others(state_dir_);
  EXPECT_TRUE(others.any());
  EXPECT_EQ(*others.Find(kGrant).value(), record_);
  EXPECT_EQ(others.Grants().value(), BindingStore::Names{kGrant});
}

TEST_F(BindingStoreTest, WhatWasNeverBoundIsFoundOnceAnotherInstanceHasBoundIt) {
  EXPECT_EQ(store_.Find(kGrant).value(), nullptr);

  BindingStore others(state_dir_);
  ASSERT_EQ(Add(others), "");
  EXPECT_EQ(*store_.Find(kGrant).value(), record_);
}

TEST_F(BindingStoreTest, WhatIsNotAmongThoseThatAreThereIsNotLookedFor) {
  BindingStore others(state_dir_);
  ASSERT_EQ(Add(others), "");
  const BindingStore::Names before;
  EXPECT_EQ(store_.Find(kGrant, &before).value(), nullptr);

  const BindingStore::Names since = store_.Grants().value();
  EXPECT_EQ(*store_.Find(kGrant, &since).value(), record_);
  EXPECT_EQ(*store_.Find(kGrant, &before).value(), record_)
      << "what is known once is not asked for";
}

TEST_F(BindingStoreTest, WhatIsPreparedIsNotFoundAndOneThatCannotBeIsSaidWhy) {
  const auto lock = store_.Lock();
  ASSERT_TRUE(store_.StageRecord(kGrant, std::make_shared<const BindingRecord>(record_)));
  EXPECT_EQ(store_.Find(kGrant).value(), nullptr);
  EXPECT_EQ(os::ListDirectory(state_dir_ + "/grants").value(), std::vector<std::string>());

  const std::string path = state_dir_ + "/grants/" + kGrant + ".json";
  ASSERT_TRUE(os::MakeDirectories(path, 0700));
  EXPECT_EQ(Add(store_), path + " is not a regular file and is not replaced");
}

TEST_F(BindingStoreTest, WhatIsRemovedIsGone) {
  ASSERT_EQ(Add(store_), "");
  store_.Remove(kGrant);

  EXPECT_EQ(store_.Find(kGrant).value(), nullptr);
  EXPECT_EQ(store_.Grants().value(), BindingStore::Names());
}

TEST_F(BindingStoreTest, APodHasAGrantFromItsRecordOn) {
  EXPECT_FALSE(store_.HasGrant("uid-1"));
  ASSERT_EQ(Add(store_), "");

  EXPECT_TRUE(store_.HasGrant("uid-1"));
  EXPECT_FALSE(store_.HasGrant("uid-2"));
  store_.Remove(kGrant);
  EXPECT_FALSE(store_.HasGrant("uid-1"));
}

TEST_F(BindingStoreTest, FilesOfOthersAreNoGrants) {
  ASSERT_EQ(Add(store_), "");
  for (const char* name : {"/a.json", "/00000000000000000000000000000002.json.tmp1", "/README"}) {
    ASSERT_TRUE(os::ReplaceFile(state_dir_ + "/grants" + name, ""));
  }
  EXPECT_EQ(store_.Grants().value(), BindingStore::Names{kGrant});
}

}  // namespace
}  // namespace tessera
