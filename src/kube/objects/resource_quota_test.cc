// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/resource_quota.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

bool IsMemory(std::string_view name) {
  return name == "limits.nvidia.com/gpumem";
}

Result<ResourceQuota> ReadQuota(std::string_view spec) {
  return ReadResourceQuota(
      *json::Parse(R"({"metadata":{"name":"gpus","namespace":"team"},"spec":)" + std::string(spec) +
                   "}"),
      IsMemory);
}

TEST(ResourceQuota, HasTheLimitsThatAreAskedForAndItsScopes) {
  const auto quota = ReadQuota(R"({"hard":{"limits.nvidia.com/gpumem":"16k","pods":"3"},
      "scopes":["NotTerminating"],"scopeSelector":{"matchExpressions":[
        {"scopeName":"PriorityClass","operator":"In","values":["high","low"]}]}})");
  ASSERT_TRUE(quota) << quota.error().message;
  EXPECT_EQ(
      *quota,
      (ResourceQuota{
          .quota_namespace = "team",
          .name = "gpus",
          .hard = {{"limits.nvidia.com/gpumem", "16k"}},
          .scopes = {{.name = "NotTerminating", .operation = "Exists"},
                     {.name = "PriorityClass", .operation = "In", .values = {"high", "low"}}}}));
}

TEST(ResourceQuota, OfAnotherFormIsRefusedByName) {
  const auto quota = ReadQuota(R"({"scopes":"Terminating"})");
  ASSERT_FALSE(quota);
  EXPECT_EQ(quota.error().message, "ResourceQuota team/gpus: spec: scopes is not a list");
}

TEST(ResourceQuota, CountsThePodsThatAllOfItsScopesAreOf) {
  const auto counts = [](const char* scopes, const QuotaFacts& facts) {
    return ReadQuota(scopes)->Counts(facts);
  };
  EXPECT_TRUE(counts("{}", {}));
  EXPECT_TRUE(counts(R"({"scopes":["Terminating"]})", {.deadline = true}));
  EXPECT_FALSE(counts(R"({"scopes":["Terminating"]})", {}));
  EXPECT_FALSE(counts(R"({"scopes":["NotTerminating"]})", {.deadline = true}));
  EXPECT_TRUE(counts(R"({"scopes":["BestEffort"]})", {.best_effort = true}));
  EXPECT_TRUE(counts(R"({"scopes":["NotBestEffort","NotTerminating"]})", {}));
  EXPECT_FALSE(counts(R"({"scopes":["NotBestEffort"]})", {.best_effort = true}));
  EXPECT_FALSE(counts(R"({"scopes":["CrossNamespacePodAffinity"]})", {}));
}

TEST(ResourceQuota, CountsPodsByTheirPriorityClass) {
  const auto counts = [](const char* expression, const char* priority) {
    return ReadQuota(R"({"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass",)" +
                     std::string(expression) + "}]}}")
        ->Counts({.priority_class = priority});
  };
  EXPECT_TRUE(counts(R"("operator":"In","values":["high"])", "high"));
  EXPECT_FALSE(counts(R"("operator":"In","values":["high"])", "low"));
  EXPECT_TRUE(counts(R"("operator":"NotIn","values":["high"])", "low"));
  EXPECT_TRUE(counts(R"("operator":"Exists")", "low"));
  EXPECT_FALSE(counts(R"("operator":"Exists")", ""));
  EXPECT_TRUE(counts(R"("operator":"DoesNotExist")", ""));
}

}  // namespace
}  // namespace tessera::kube
