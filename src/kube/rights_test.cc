// SPDX-License-Identifier: Apache-2.0
#include "kube/rights.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

TEST(RightsTest, OfEachCallTheRuleIsKnown) {
  EXPECT_EQ(RuleFor("watch", "/api/v1/pods"),
            R"({apiGroups: [""], resources: ["pods"], verbs: ["watch"]})");
  EXPECT_EQ(RuleFor("get", "/api/v1/nodes/n1"),
            R"({apiGroups: [""], resources: ["nodes"], verbs: ["get"]})");
  EXPECT_EQ(RuleFor("patch", "/api/v1/nodes/n1/status"),
            R"({apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"]})");
  EXPECT_EQ(RuleFor("create", "/api/v1/namespaces/team/pods/a/eviction"),
            R"({apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"]})");
  EXPECT_EQ(RuleFor("create", "/api/v1/namespaces/team/pods/a/binding"),
            R"({apiGroups: [""], resources: ["pods/binding"], verbs: ["create"]})");
  EXPECT_EQ(RuleFor("update", "/api/v1/namespaces/team/secrets/tls"),
            R"({apiGroups: [""], resources: ["secrets"], verbs: ["update"]})");
  EXPECT_EQ(RuleFor("create", "/api/v1/namespaces/team/events"),
            R"({apiGroups: [""], resources: ["events"], verbs: ["create"]})");
  EXPECT_EQ(RuleFor("get", "/apis/coordination.k8s.io/v1/namespaces/x/leases/y"),
            R"({apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"]})");
  EXPECT_EQ(RuleFor("get", "/api/v1/namespaces/team"),
            R"({apiGroups: [""], resources: ["namespaces"], verbs: ["get"]})");
  for (const char* path : {"", "/", "/healthz", "/api/v1", "/x/y/z"}) {
    EXPECT_EQ(RuleFor("get", path), "") << path;
  }
}

TEST(RightsTest, WhoLacksARightIsToldWhichRuleGivesIt) {
  const Error error{Reason::kApiForbidden, "no"};

  EXPECT_EQ(
      WithRight(error, 403, "watch", "/api/v1/pods").message,
      R"(no; the role lacks the rule {apiGroups: [""], resources: ["pods"], verbs: ["watch"]})");
  EXPECT_EQ(WithRight(error, 401, "watch", "/api/v1/pods"), error);
  EXPECT_EQ(WithRight(error, 403, "get", "/x"), error);
}

}  // namespace
}  // namespace tessera::kube
