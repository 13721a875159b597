// SPDX-License-Identifier: Apache-2.0
#include "scheduler/quotas.h"

#include <gtest/gtest.h>

#include "hami/vendor.h"
#include "placement/placement.h"

namespace tessera::scheduler {
namespace {

constexpr char kMemoryLimit[] = "limits.nvidia.com/gpumem";
constexpr char kCoresLimit[] = "limits.nvidia.com/gpucores";

class QuotasTest : public testing::Test {
 protected:
  static RequestRules Rules() {
    return RulesOf(std::string(hami::kNvidia.count), hami::kNvidia.Requests());
  }
  static kube::ResourceQuota Quota(const std::string& name, kube::Texts hard) {
    return {.quota_namespace = "team", .name = name, .hard = std::move(hard)};
  }
  static kube::Pod Pod(const std::string& name, const std::string& space = "team") {
    return {.uid = "uid-" + name, .pod_namespace = space, .name = name};
  }
  static UsageByDevice Of(int64_t memory, int64_t cores = 0) {
    return {{"GPU-1", {.containers = 1, .memory = memory, .cores = cores}}};
  }
  // The reason for a refusal, or "".
  std::string WhyNot(const kube::Pod& pod, const UsageByDevice& more) const {
    const std::string* why = quotas_.WhyNot(pod, more);
    return why == nullptr ? "" : *why;
  }

  Quotas quotas_{Rules()};
};

TEST_F(QuotasTest, WhatPodsOfTheNamespaceHaveCountsAndNoOthers) {
  quotas_.Put(Quota("gpus", {{kMemoryLimit, "8k"}}));
  quotas_.Take(Pod("a"), Of(3000));
  quotas_.Take(Pod("elsewhere", "other"), Of(9000));

  EXPECT_EQ(WhyNot(Pod("b"), Of(5000)), "");
  EXPECT_EQ(WhyNot(Pod("b"), Of(5001)),
            "the pod's namespace has too little limits.nvidia.com/gpumem left in its ResourceQuota "
            "gpus");
  EXPECT_EQ(WhyNot(Pod("c", "other"), Of(90000)), "");
  quotas_.Release("uid-a");
  EXPECT_EQ(WhyNot(Pod("b"), Of(8000)), "");
}

TEST_F(QuotasTest, WhatPodsHadBeforeTheQuotaCameCounts) {
  quotas_.Take(Pod("a"), Of(3000));
  quotas_.Take(Pod("gone"), Of(1000));
  quotas_.Put(Quota("gpus", {{kMemoryLimit, "4000"}}));
  quotas_.Release("uid-gone");

  EXPECT_EQ(WhyNot(Pod("b"), Of(1000)), "");
  EXPECT_NE(WhyNot(Pod("b"), Of(1001)), "");
}

TEST_F(QuotasTest, WhatAPodHasCountsOnce) {
  quotas_.Put(Quota("gpus", {{kCoresLimit, "100"}}));
  quotas_.Take(Pod("a"), Of(3000, 60));
  quotas_.Take(Pod("a"), Of(3000, 50));

  EXPECT_EQ(WhyNot(Pod("b"), Of(1, 50)), "");
  EXPECT_EQ(WhyNot(Pod("b"), Of(1, 51)),
            "the pod's namespace has too little limits.nvidia.com/gpucores left in its "
            "ResourceQuota gpus");
}

TEST_F(QuotasTest, OfSeveralTheLeastCounts) {
  quotas_.Put(Quota("large", {{kMemoryLimit, "9000"}}));
  quotas_.Put(Quota("small", {{kMemoryLimit, "4000"}}));

  EXPECT_NE(WhyNot(Pod("a"), Of(4001)).find("ResourceQuota small"), std::string::npos);
  quotas_.Remove(Quota("small", {}));
  EXPECT_EQ(WhyNot(Pod("a"), Of(4001)), "");
  quotas_.Put(Quota("large", {{kMemoryLimit, "0"}}));
  EXPECT_NE(WhyNot(Pod("a"), Of(1)), "");
}

TEST_F(QuotasTest, AQuotaOfAScopeIsAboutItsPodsAlone) {
  kube::ResourceQuota quota = Quota("short", {{kMemoryLimit, "4000"}});
  quota.scopes = {{.name = "Terminating", .operation = "Exists"}};
  quotas_.Put(quota);
  kube::Pod ends = Pod("ends");
  ends.quota.deadline = true;
  quotas_.Take(Pod("stays"), Of(4000));

  EXPECT_EQ(WhyNot(Pod("other"), Of(4001)), "");
  EXPECT_EQ(WhyNot(ends, Of(4000)), "");
  EXPECT_NE(WhyNot(ends, Of(4001)), "");
}

TEST_F(QuotasTest, TheFactorOfRequestsIsThatOfLimits) {
  RequestRules rules = Rules();
  rules.memory_factor = 10;
  Quotas quotas(rules);
  quotas.Put(Quota("gpus", {{kMemoryLimit, "3"}}));

  EXPECT_EQ(quotas.WhyNot(Pod("a"), Of(30)), nullptr);
  EXPECT_NE(quotas.WhyNot(Pod("a"), Of(31)), nullptr);
}

TEST_F(QuotasTest, TheLimitsOfANamespaceAreToldWithWhatItsPodsHave) {
  quotas_.Put(Quota("large", {{kMemoryLimit, "9000"}, {kCoresLimit, "100"}}));
  quotas_.Put(Quota("small", {{kMemoryLimit, "4000"}}));
  quotas_.Take(Pod("a"), Of(3000, 20));
  quotas_.Take(Pod("elsewhere", "other"), Of(1000));

  std::vector<Quotas::Limit> limits;
  quotas_.EachLimit([&](const Quotas::Limit& limit) { limits.push_back(limit); });

  EXPECT_EQ(limits, (std::vector<Quotas::Limit>{{"team", "nvidia.com/gpumem", 3000, 4000},
                                                {"team", "nvidia.com/gpucores", 20, 100}}));
}

TEST_F(QuotasTest, LimitsOfItsResourcesAreReadAndNoOthers) {
  EXPECT_TRUE(quotas_.Reads(kMemoryLimit));
  EXPECT_TRUE(quotas_.Reads(kCoresLimit));
  EXPECT_FALSE(quotas_.Reads("limits.cpu"));
  EXPECT_FALSE(quotas_.Reads(""));
}

}  // namespace
}  // namespace tessera::scheduler
