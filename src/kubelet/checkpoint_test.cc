// SPDX-License-Identifier: Apache-2.0
#include "kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace tessera::kubelet {
namespace {

Checkpoint Sample() {
  return {{{"uid-1", "app", "dummy.com/npu", {{"-1", {"10", "2"}}, {"0", {"5"}}}, "\x0a\x01z"}},
          {{"dummy.com/npu", {"2", "5", "10"}}, {"dummy.com/other", {}}}};
}

std::string ErrorOf(std::string_view text) {
  auto checkpoint = ParseCheckpoint(text);
  return checkpoint ? "" : checkpoint.error().message;
}

TEST(Checkpoint, KubeletsOwnDocumentIsRead) {
  auto checkpoint = ParseCheckpoint(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"6f","ContainerName":"c","ResourceName":"a.com/b",)"
      R"("DeviceIDs":{"-1":["dev-1","dev-2"]},"AllocResp":"CgcKAWESATE="}],)"
      R"("RegisteredDevices":{"a.com/b":["dev-1","dev-2","dev-3"]}},"Checksum":18446744073709551615})");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  ASSERT_EQ(checkpoint->entries.size(), 1U);
  const CheckpointEntry& entry = checkpoint->entries[0];
  EXPECT_EQ(entry.pod_uid, "6f");
  EXPECT_EQ(entry.container, "c");
  EXPECT_EQ(entry.resource, "a.com/b");
  EXPECT_EQ(entry.ids(), (std::vector<std::string>{"dev-1", "dev-2"}));
  EXPECT_EQ(entry.allocate_response, std::string("\x0a\x07\x0a\x01\x61\x12\x01\x31"));
  EXPECT_EQ(checkpoint->registered["a.com/b"].size(), 3U);
}

TEST(Checkpoint, NullListsOfGoAreEmpty) {
  auto checkpoint = ParseCheckpoint(
      R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":null},"Checksum":1})");
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->entries.empty());
  EXPECT_TRUE(checkpoint->registered.empty());
}

TEST(Checkpoint, WhatIsWrittenIsReadBack) {
  auto read = ParseCheckpoint(WriteCheckpoint(Sample()));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->entries.size(), 1U);
  EXPECT_EQ(read->entries[0].ids_by_numa, Sample().entries[0].ids_by_numa);
  EXPECT_EQ(read->entries[0].allocate_response, Sample().entries[0].allocate_response);
  EXPECT_EQ(read->registered, Sample().registered);
}

TEST(Checkpoint, TheDocumentHasKubeletsMembers) {
  auto root = json::Parse(WriteCheckpoint(Sample()));
  ASSERT_TRUE(root);
  EXPECT_EQ(json::Write(root->get_object()["Data"].get_object()["PodDeviceEntries"]),
            R"([{"PodUID":"uid-1","ContainerName":"app","ResourceName":"dummy.com/npu",)"
            R"("DeviceIDs":{"-1":["10","2"],"0":["5"]},"AllocResp":"CgF6"}])");
  EXPECT_TRUE(root->get_object().contains("Checksum"));
}

TEST(Checkpoint, IdsAreInNaturalOrderAndEachOnce) {
  CheckpointEntry entry{"u", "c", "r", {{"0", {"10", "2"}}, {"1", {"2", "01", "1"}}}, ""};
  std::vector<std::string> ids = entry.ids();
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(ids[2], "2");
  EXPECT_EQ(ids[3], "10");
}

TEST(Checkpoint, ATornFileIsAnError) {
  std::string whole = WriteCheckpoint(Sample());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseCheckpoint(whole.substr(0, length))) << length;
  }
}

TEST(Checkpoint, AnErrorSaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("[]"), "kubelet's checkpoint: not a JSON object");
  EXPECT_EQ(ErrorOf("{}"), "kubelet's checkpoint: no Data");
  EXPECT_EQ(ErrorOf(R"({"Data":{"Entries":[]}})"), "kubelet's checkpoint: no PodDeviceEntries");
  EXPECT_EQ(ErrorOf(R"({"Data":{"PodDeviceEntries":3}})"),
            "kubelet's checkpoint: PodDeviceEntries is not a list");
  EXPECT_EQ(ErrorOf(R"({"Data":{"PodDeviceEntries":[{}]}})"),
            "kubelet's checkpoint: an entry names no pod or resource");
  EXPECT_EQ(ErrorOf(R"({"Data":{"RegisteredDevices":{"a.com/b":[1]}}})"),
            "kubelet's checkpoint: a device id is not a string");
  EXPECT_EQ(ErrorOf(R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c",)"
                    R"("ResourceName":"r","DeviceIDs":null,"AllocResp":"?"}]}})"),
            "kubelet's checkpoint: AllocResp is not base64");
  const std::string named = R"({"PodUID":"u","ContainerName":"c","ResourceName":"r")";
  const auto with = [&](const std::string& more) {
    return ErrorOf(R"({"Data":{"PodDeviceEntries":[)" + named + more + "}]}}");
  };
  EXPECT_EQ(with(R"(,"AllocResp":"")"), "kubelet's checkpoint: an entry has no DeviceIDs");
  EXPECT_EQ(with(R"(,"DeviceIDs":{})"), "kubelet's checkpoint: an entry has no AllocResp");
  EXPECT_EQ(with(R"(,"DeviceIDs":{},"AllocResp":{})"),
            "kubelet's checkpoint: an entry has no AllocResp");
  EXPECT_EQ(with(R"(,"DeviceIDs":{},"AllocResp":null)"), "");
}

}  // namespace
}  // namespace tessera::kubelet
