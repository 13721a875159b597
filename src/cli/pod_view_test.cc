// SPDX-License-Identifier: Apache-2.0
#include "cli/pod_view.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(PodText, HasWhoPlacedItWhatItGotAndWhyNot) {
  const json::Value answer = json::Parse(R"({
    "pod": "default/train-0", "uid": "uid-1", "node": "worker-1", "phase": "Pending",
    "deleting": false, "placement": {"by": "hami-scheduler", "node": "worker-1"},
    "annotations": {"hami.io/bind-phase": "allocating"},
    "containers": [
      {"name": "load", "kind": "init", "state": "ended"},
      {"name": "main", "kind": "app", "asks": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4096"},
       "state": "bound", "advice": "",
       "holdings": [{"resource": "nvidia.com/gpu", "shares": ["GPU-1::3"], "devices": ["GPU-1"]}],
       "grants": [{"grant": "0123", "controlled": true, "directory": "/vgpu/containers/uid-1_main",
                   "library": "/vgpu/libvgpu.so",
                   "parts": [{"device": "GPU-1", "memoryBytes": 4294967296, "cores": 30}]}]},
      {"name": "web", "kind": "app", "state": "refused",
       "advice": "the container is made once others on that device have ended",
       "refusals": [{"reason": "no-room", "message": "GPU-1 has 100 MiB left", "count": 12,
                     "first": "2026-11-20T18:00:00.000Z", "last": "2026-11-20T18:05:00.000Z"}]}],
    "refusals": []})")
                                 .value();
  EXPECT_EQ(PodText(answer, {.columns = 80, .color = false}),
            R"(pod default/train-0
  uid         uid-1
  node        worker-1
  phase       Pending
  placed      by HAMi's scheduler, which chose its GPUs

container load (init)
  state       it has ended

container main
  asks for    nvidia.com/gpu=1 nvidia.com/gpumem=4096
  state       its grant is bound, as shown below
  holds       nvidia.com/gpu GPU-1::3
  on          GPU-1
  granted     GPU-1: 4096 MiB, 30 % of its time
  grant       0123
  directory   /vgpu/containers/uid-1_main
  library     /vgpu/libvgpu.so

container web
  state       refused: the container is not made
  refused     12 times from 2026-11-20T18:00:00.000Z to
              2026-11-20T18:05:00.000Z: GPU-1 has 100 MiB left [no-room]
  to do       the container is made once others on that device have ended

annotations
  hami.io/bind-phase=allocating
)");
}

TEST(PodText, SaysWhatMayHaveBeenThisPod) {
  const json::Value answer = json::Parse(R"({
    "pod": "default/web", "node": "worker-1", "phase": "", "deleting": false,
    "placement": {"by": ""}, "containers": [],
    "refusals": [{"reason": "unhealthy-share", "message": "7 is sick", "count": 1,
                  "last": "2026-11-20T18:05:00.000Z", "advice": "wait"}]})")
                                 .value();
  EXPECT_EQ(PodText(answer, {.columns = 80, .color = false}),
            R"(pod default/web
  node        worker-1
  phase       unknown: no API server has reported it
  placed      not placed yet: it has no devices

refused before kubelet named the pod; it may be this one
  refused     at 2026-11-20T18:05:00.000Z: 7 is sick [unhealthy-share]
  to do       wait
)");
}

TEST(PodText, AnAnnotationCannotSteerTheTerminalNorFillIt) {
  const json::Value answer = json::Object{
      {"pod", "a/b"},
      {"annotations",
       json::Object{{"hami.io/a", "\x1b[2J\xC2\x9B"}, {"hami.io/b", std::string(999, 'x')}}}};
  const std::string text = PodText(answer, {.columns = 80, .color = false});
  EXPECT_EQ(text.substr(text.find("annotations")),
            "annotations\n  hami.io/a=\"\\u001b[2J\\u009b\"\n  hami.io/b=" + std::string(399, 'x') +
                "…\n");
}

TEST(PodText, NorCanTheNodeThatAnAnnotationNames) {
  const json::Value answer =
      json::Object{{"pod", "a/b"},
                   {"node", "n1"},
                   {"placement", json::Object{{"by", "hami-scheduler"}, {"node", "\x1b[2J"}}}};
  EXPECT_NE(
      PodText(answer, {.columns = 80, .color = false}).find("for another node: \"\\u001b[2J\"\n"),
      std::string::npos);
}

TEST(IsPodName, APodHasOneSlashAndNoDomain) {
  EXPECT_TRUE(IsPodName("default/train-0"));
  EXPECT_TRUE(IsPodName("default/train.0"));
  for (const char* device :
       {"", "7", "/7", "default/", "dummy.com/npu", "dummy.com/npu/7", "a/b/c"}) {
    EXPECT_FALSE(IsPodName(device)) << device;
  }
}

}  // namespace
}  // namespace tessera::cli
