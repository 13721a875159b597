// SPDX-License-Identifier: Apache-2.0
#include "kube/event.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

// 2026-11-20T18:00:00.123Z
constexpr Wall kWhen{Duration(1'795'197'600'123)};

Event OfNode() {
  return {.about = NodeReference("worker-1"),
          .warning = true,
          .reason = "DeviceUnhealthy",
          .message = "device dummy.com/npu/7 is unhealthy",
          .when = kWhen,
          .subject = "dummy.com/npu/7"};
}

Event OfPod() {
  Event event = OfNode();
  event.about = {.kind = "Pod",
                 .pod_namespace = "team-a",
                 .name = "trainer",
                 .uid = "0b7d5a44",
                 .container = "main"};
  event.warning = false;
  return event;
}

std::string NameIn(const json::Value& object) {
  return json::GetString(*json::GetObject(object.as_object(), "metadata"), "name").value();
}
std::string MessageIn(const json::Value& object) {
  return json::GetString(object.as_object(), "message").value();
}

TEST(Event, OfANodeIsWhatKubectlDescribeFinds) {
  EXPECT_EQ(EventPath(OfNode()), "/api/v1/namespaces/default/events");
  EXPECT_EQ(json::WritePretty(EventJson(OfNode(), "worker-1")), R"({
  "apiVersion": "v1",
  "kind": "Event",
  "metadata": {
    "name": "worker-1.24e2eb90443f6121",
    "namespace": "default"
  },
  "involvedObject": {
    "apiVersion": "v1",
    "kind": "Node",
    "name": "worker-1",
    "uid": "worker-1"
  },
  "type": "Warning",
  "reason": "DeviceUnhealthy",
  "message": "device dummy.com/npu/7 is unhealthy",
  "source": {
    "component": "tessera",
    "host": "worker-1"
  },
  "reportingComponent": "tessera",
  "reportingInstance": "worker-1",
  "firstTimestamp": "2026-11-20T18:00:00Z",
  "lastTimestamp": "2026-11-20T18:00:00Z",
  "count": 1
}
)");
}

TEST(Event, OfAPodIsInItsNamespaceAndNamesItsContainer) {
  EXPECT_EQ(EventPath(OfPod()), "/api/v1/namespaces/team-a/events");
  const json::Value object = EventJson(OfPod(), "worker-1");
  EXPECT_EQ(json::Write(*object.as_object().if_contains("involvedObject")),
            R"({"apiVersion":"v1","kind":"Pod","name":"trainer","uid":"0b7d5a44",)"
            R"("namespace":"team-a","fieldPath":"spec.containers{main}"})");
  EXPECT_EQ(json::GetString(object.as_object(), "type"), "Normal");
}

TEST(Event, TheSameEventHasTheSameNameAndAnyOtherHasAnotherOne) {
  EXPECT_EQ(NameIn(EventJson(OfNode(), "worker-1")), NameIn(EventJson(OfNode(), "worker-2")));
  std::vector<Event> others(5, OfNode());
  others[0].subject = "dummy.com/npu/8";
  others[1].reason = "DeviceHealthy";
  others[2].when += Duration(1);
  others[3].about.uid = "x";
  others[4].about.container = "main";
  for (const Event& other : others) {
    EXPECT_NE(NameIn(EventJson(other, "worker-1")), NameIn(EventJson(OfNode(), "worker-1")));
  }
}

TEST(Event, ALongNameOfAPodIsCutForTheEventsOwn) {
  Event event = OfPod();
  event.about.name = std::string(253, 'a');

  EXPECT_EQ(NameIn(EventJson(event, "worker-1")).size(), 253U);
}

TEST(Event, ALongMessageIsCutBetweenCharacters) {
  Event event = OfNode();
  event.message = std::string(1024, 'x');
  EXPECT_EQ(MessageIn(EventJson(event, "worker-1")), event.message);

  event.message = std::string(1020, 'x') + "\u00e4\u00e4\u00e4";
  EXPECT_EQ(MessageIn(EventJson(event, "worker-1")), std::string(1020, 'x') + "...");
}

}  // namespace
}  // namespace tessera::kube
