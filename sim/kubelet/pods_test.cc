// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pods.h"

#include <gtest/gtest.h>

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;

Pod Sample() {
  return {.spec = {"ns",
                   "pod",
                   "uid",
                   {{"init", Kind::kInit, {{"a.com/b", 2}}},
                    {"side", Kind::kSidecar, {}},
                    {"app", Kind::kApp, {{"a.com/b", 1}}}}},
          .started = {"init", "side"}};
}

TEST(Pods, WhatIsWrittenIsReadBack) {
  Pods pods;
  pods.Put(Sample());
  auto read = Pods::Parse(pods.Write());
  ASSERT_TRUE(read) << read.error().message;
  const Pod* pod = read->Find({"ns", "pod"});
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->spec.uid, "uid");
  EXPECT_EQ(pod->started, Sample().started);
  ASSERT_EQ(pod->spec.containers.size(), 3U);
  EXPECT_EQ(pod->spec.containers[1].kind, Kind::kSidecar);
  EXPECT_EQ(pod->spec.containers[0].limits, Sample().spec.containers[0].limits);
}

TEST(Pods, AnotherDocumentIsAnError) {
  EXPECT_EQ(Pods::Parse("{}").error().message, "the list of pods: no member \"pods\"");
  EXPECT_EQ(Pods::Parse(R"({"pods":[{}]})").error().message,
            "the list of pods: a pod is malformed");
}

TEST(Pods, ARequestIsWhatRunsAtTheSameTime) {
  PodSpec pod{"ns",
              "pod",
              "uid",
              {{"init", Kind::kInit, {{"r", 4}}},
               {"side", Kind::kSidecar, {{"r", 1}}},
               {"late", Kind::kInit, {{"r", 4}}},
               {"app", Kind::kApp, {{"r", 2}}},
               {"more", Kind::kApp, {{"r", 1}, {"s", 1}}}}};
  EXPECT_EQ(RequestsOf(pod), (std::map<std::string, int>{{"r", 5}, {"s", 1}}));
}

}  // namespace
}  // namespace tessera::kubelet::embedded
