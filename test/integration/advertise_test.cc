// SPDX-License-Identifier: Apache-2.0
// Which lists kubelet gets, and when. And which changes cause no new registration.
#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

using Lists = std::vector<std::string>;

constexpr char kEight[] = "  - {name: dummy.com/npu, dummy: {count: 8}}\n";

json::Object Failing(const std::vector<std::string>& ids) {
  json::Object devices;
  for (const std::string& id : ids) devices[id] = {{"fail", "on fire"}};
  return devices;
}

class AdvertiseTest : public AgentTest {};

TEST_F(AdvertiseTest, TheFirstBadNewsDoesNotWaitForTheDebounce) {
  StartAll(kEight, "advertise: {debounce: 10s}\n");
  ListsUntil(ListOf(8, 8));

  // The agent sees both faults at once. A list with only one of them shows that it did not wait.
  SetFaults(Failing({"0", "1"}));

  EXPECT_EQ(ListsUntil(ListOf(7, 8)), Lists{ListOf(7, 8)});
}

TEST_F(AdvertiseTest, WhatChangesWithinTheDebounceAfterTheFirstBadNewsMakesOneList) {
  StartAll(kEight, "advertise: {debounce: 3s}\n");
  ListsUntil(ListOf(8, 8));
  // The scan after the first comparison of the ledger sends a list of its own.
  ASSERT_TRUE(AwaitMetric(R"(tessera_scans_total{resource="dummy.com/npu",result="good"})", 2));
  SetFaults(Failing({"0", "1"}));
  ListsUntil(ListOf(6, 8));  // the debounce has just ended

  SetFaults(Failing({"0", "1", "2"}));
  EXPECT_EQ(ListsUntil(ListOf(5, 8)), Lists{ListOf(5, 8)});
  SetFaults(Failing({"0", "1", "2", "3", "4", "5"}));

  EXPECT_EQ(ListsUntil(ListOf(2, 8)), Lists{ListOf(2, 8)});
}

TEST_F(AdvertiseTest, AnUnchangedListIsNotSentAgain) {
  StartAll(kFour);
  ListsUntil(ListOf(4, 4));

  // A cordoned device breaks: kubelet's list stays the same.
  ASSERT_TRUE(Order("/cordon", {{"device", "2"}, {"reason", "loud fan"}}));
  Fault("fail", "2", "on fire");
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    return json::GetString(DeviceOn(page, "2"), "state") == "unhealthy";
  }));
  Fault("fail", "3", "on fire");

  EXPECT_EQ(ListsUntil(ListOf(2, 4)), (Lists{ListOf(3, 4), ListOf(2, 4)}));
}

TEST_F(AdvertiseTest, AKubeletThatWritesItsCheckpointAgainAndAgainIsNotRegisteredWithAgain) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  const std::string checkpoint = dir_ + "/kubelet/device-plugins/kubelet_internal_checkpoint";
  const std::string text = os::ReadFile(checkpoint).value_or("");
  ASSERT_NE(text, "");

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(os::WriteFileAtomically(checkpoint, text));

  // Had these writes ended the stream, only another registration could bring the next list.
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);
  EXPECT_EQ(Registrations(kNpu), 1);
}

}  // namespace
}  // namespace tessera
