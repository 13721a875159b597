// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_page.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

constexpr char kPodsGpu[] = "nvidia.com/gpu";
constexpr char kNpuResource[] = "dummy.com/npu";

class PodPageTest : public testing::Test {
 protected:
  // A pod that HAMi's scheduler has placed.
  static kube::Pod Train() {
    return {.uid = "uid-1",
            .pod_namespace = "default",
            .name = "train-0",
            .node = "worker-1",
            .phase = kube::Pod::Phase::kPending,
            .annotations = {{"hami.io/vgpu-node", "worker-1"},
                            {"hami.io/bind-phase", "allocating"},
                            {"hami.io/vgpu-devices-allocated", "GPU-1,NVIDIA,4096,30:;"}},
            .containers = {
                {.name = "main", .limits = {{kPodsGpu, "1"}, {"nvidia.com/gpumem", "4096"}}}}};
  }
  void Hold(const std::string& resource, std::vector<std::string> ids) {
    ledger_.Reconcile({{"default", "train-0", "uid-1", "main", resource, std::move(ids)}},
                      {resource}, {});
  }
  void Grant() {
    facts_.grants.emplace_back("0123", std::make_shared<BindingRecord>(BindingRecord{
                                           .resource = kPodsGpu,
                                           .pod_uid = "uid-1",
                                           .container = "main",
                                           .directory = "/usr/local/vgpu/containers/uid-1_main",
                                           .parts = {{"GPU-1", 4096, 30}},
                                           .library = "/usr/local/vgpu/libvgpu.so"}));
  }
  void Refuse(const std::string& pod_uid, const std::string& container) {
    context_.events.RecordRefusal({.pod_uid = pod_uid,
                                   .container = container,
                                   .resource = kPodsGpu,
                                   .error = {Reason::kNoRoom, "GPU-1 has 100 MiB left"}});
  }
  json::Object Page() {
    auto page = PodPage(facts_, "default/train-0");
    EXPECT_TRUE(page) << page.error().message;
    return page ? page->as_object() : json::Object();
  }
  json::Object Container() { return Page().at("containers").at(0).as_object(); }

  Ledger ledger_{Duration(1000)};
  BindContext context_;
  PodFacts facts_{.node = "worker-1", .ledger = ledger_, .context = context_, .late = {kPodsGpu}};
};

TEST_F(PodPageTest, ABoundContainerIsShownWithItsPlacementItsSharesAndItsGrant) {
  context_.pods.Put(Train());
  Hold(kPodsGpu, {"GPU-1::3"});
  Grant();
  EXPECT_EQ(json::Value(Page()), json::Parse(R"({
    "pod": "default/train-0", "uid": "uid-1", "node": "worker-1", "phase": "Pending",
    "deleting": false,
    "placement": {"by": "hami-scheduler", "node": "worker-1", "phase": "allocating",
                  "allocated": "GPU-1,NVIDIA,4096,30:;"},
    "annotations": {"hami.io/bind-phase": "allocating",
                    "hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA,4096,30:;",
                    "hami.io/vgpu-node": "worker-1"},
    "containers": [{
      "name": "main", "kind": "app", "asks": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4096"},
      "holdings": [{"resource": "nvidia.com/gpu", "shares": ["GPU-1::3"], "devices": ["GPU-1"]}],
      "grants": [{"grant": "0123", "resource": "nvidia.com/gpu", "controlled": true,
                  "fitted": false, "directory": "/usr/local/vgpu/containers/uid-1_main",
                  "library": "/usr/local/vgpu/libvgpu.so",
                  "parts": [{"device": "GPU-1", "memoryBytes": 4294967296, "cores": 30}]}],
      "refusals": [], "state": "bound", "advice": ""}],
    "refusals": []})")
                                     .value());
}

TEST_F(PodPageTest, ARefusedContainerSaysWhyHowOftenAndWhatToDo) {
  context_.pods.Put(Train());
  Hold(kPodsGpu, {"GPU-1::3"});
  Refuse("uid-1", "main");
  Refuse("uid-1", "main");
  const json::Object container = Container();
  EXPECT_EQ(container.at("state"), "refused");
  EXPECT_EQ(container.at("advice").as_string(), ReasonAdvice(Reason::kNoRoom));
  const json::Object refusal = container.at("refusals").at(0).as_object();
  EXPECT_EQ(refusal.at("reason"), "no-room");
  EXPECT_EQ(refusal.at("message"), "GPU-1 has 100 MiB left");
  EXPECT_EQ(refusal.at("count"), 2);
  EXPECT_EQ(refusal.at("over"), false);

  context_.events.EndRefusals("uid-1", "main");
  Grant();
  EXPECT_EQ(Container().at("state"), "bound");
  EXPECT_EQ(Container().at("refusals").at(0).at("over"), true);
}

TEST_F(PodPageTest, WhoseGrantIsNotBoundYetHasAPromise) {
  context_.pods.Put(Train());
  Hold(kPodsGpu, {"GPU-1::3"});
  EXPECT_EQ(Container().at("state"), "promised");
}

TEST_F(PodPageTest, WhomKubeletHasNotAdmittedWaits) {
  context_.pods.Put(Train());
  EXPECT_EQ(Container().at("state"), "waits");
}

TEST_F(PodPageTest, APodWithoutAVirtualGpuHoldsItsDevices) {
  Hold(kNpuResource, {"7", "8"});
  const json::Object page = Page();
  EXPECT_EQ(page.at("phase"), "");
  EXPECT_EQ(page.at("placement").at("by"), "kubelet");
  EXPECT_EQ(Container().at("state"), "holds");
  EXPECT_EQ(Container().at("holdings"),
            json::Value(json::Array{json::Object{{"resource", kNpuResource},
                                                 {"shares", json::Array{"7", "8"}},
                                                 {"devices", json::Array{"7", "8"}}}}));
}

TEST_F(PodPageTest, WhatKubeletHoldsOfThatNameCountsWhateverPodTheApiServerHasOfIt) {
  kube::Pod former = Train();
  former.uid = "uid-0";
  context_.pods.Put(former);
  Hold(kPodsGpu, {"GPU-1::3"});
  Refuse("uid-1", "main");
  EXPECT_EQ(Container().at("state"), "refused");
}

TEST_F(PodPageTest, ThatHasGoneIsStillKnownByItsRefusals) {
  context_.pods.Put(Train());
  Refuse("uid-1", "main");
  context_.Remove(Train());
  EXPECT_EQ(Page().at("uid"), "uid-1");
  EXPECT_EQ(Container().at("state"), "refused");
}

TEST_F(PodPageTest, ARefusalOfNobodyKnowsWhomIsShownWhereItMayHaveBeenThisPod) {
  context_.pods.Put(Train());
  Refuse("", "");
  context_.events.RecordRefusal(
      {.resource = kNpuResource, .error = {Reason::kUnhealthyShare, "7 is sick"}});
  const json::Array refusals = Page().at("refusals").as_array();
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].at("message"), "GPU-1 has 100 MiB left");
}

TEST_F(PodPageTest, OfAPodThatNobodyKnowsItIsSaidWhereItMayBe) {
  const auto page = PodPage(facts_, "default/train-0");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error(),
            (Error{Reason::kNotFound,
                   "node worker-1: neither kubelet nor the API server reports pod default/train-0. "
                   "It is on another node (see 'kubectl get pod -o wide'), has ended, requests "
                   "nothing served here, or is misspelt"}));
  Refuse("", "");
  EXPECT_NE(PodPage(facts_, "default/train-0").error().message.find("GPU-1 has 100 MiB left"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::agent
