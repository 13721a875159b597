// SPDX-License-Identifier: Apache-2.0
#include "kube/eviction.h"

#include <gtest/gtest.h>

namespace tessera::kube {
namespace {

TEST(Eviction, IsOfThisPodAndOfNoLaterOneOfItsName) {
  const Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "trainer"};
  EXPECT_EQ(EvictionPath(pod), "/api/v1/namespaces/team/pods/trainer/eviction");
  EXPECT_EQ(json::Write(EvictionOf(pod)),
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"trainer",)"
            R"("namespace":"team"},"deleteOptions":{"preconditions":{"uid":"uid-1"}}})");
}

}  // namespace
}  // namespace tessera::kube
