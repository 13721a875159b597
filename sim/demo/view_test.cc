// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/view.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

std::string TextOf(const Frame& frame) {
  std::string text = "\n";
  for (const TextLine& line : frame) text += line.Plain() + "\n";
  return text;
}

kubelet::ResourceStatus Shared() {
  kubelet::ResourceStatus resource;
  resource.name = "dummy.com/npu-shared";
  resource.capacity = resource.allocatable = 4;
  resource.connected = true;
  for (const char* id : {"0::0", "0::1", "1::0", "1::1"}) {
    resource.devices.push_back(HealthyDevice(id));
  }
  resource.devices[0].pod_namespace = "default";
  resource.devices[0].pod = "tiny-0";
  return resource;
}

// A node in the middle of things: one device each in every state.
Picture Busy() {
  kubelet::ResourceStatus npus = Npus(20);
  npus.allocatable = 17;
  for (size_t i : {0u, 1u, 2u}) {
    npus.devices[i].pod_namespace = "default";
    npus.devices[i].pod = i < 2 ? "train-a" : "job-12";
  }
  npus.devices[1].healthy = npus.devices[4].healthy = npus.devices[5].healthy = false;
  const std::vector<kubelet::ResourceStatus> resources = {npus, Shared()};

  Picture picture;
  picture.title = "a try";
  picture.kubelet_version = "1.36";
  picture.length = Duration(20'000);
  picture.Update(Saw(KubeletMoved{true, "started"}));
  picture.Update(Saw(AgentMoved{.pid = 4242, .up = true, .wanted = true, .how = "started"}));
  picture.Update(Saw(Admitted("train-a", {"0", "1"})));
  picture.Update(Saw(Admitted("job-12", {"2"})));
  picture.Update(Saw(PodTried()));
  picture.Update(Saw(Caption{"An NPU fails."}, resources, 4'000));
  picture.Update(Saw(InventoryRead{{{{kNpu, "1"}, {"unhealthy", "check-failed", false}},
                                    {{kNpu, "3"}, {"suspect", "check-failed", false}},
                                    {{kNpu, "4"}, {"healthy", "cordoned", true}},
                                    {{kNpu, "5"}, {"recovering", "check-failed", false}}}},
                     resources, 10'000));
  Narrator narrator;
  for (const Event& event : narrator.EventsOf(Saw(Caption{"An NPU fails."}, {}, 4'000))) {
    picture.Add(event);
  }
  picture.Update(Saw(Waiting{"dummy.com/npu allocatable 20"}, resources, 10'000));
  picture.checks = 9;
  return picture;
}

TEST(View, EightyColumns) {
  EXPECT_EQ(TextOf(Render(Busy(), {.columns = 80, .rows = 24, .unicode = true})), R"(
 tessera demo  a try                                   ━━━━━━━━──────── 00:10.0
 ▸ An NPU fails.
 kubelet 1.36 ● up   agent ● 4242   pods 2   refused 1   laws hold (9)
 dummy.com/npu         capacity  20  allocatable  17  held   3  ━━─────────────
 0  ■ 1  ✗ 2  ■ 3  ! 4  ⊘ 5  ✗ 6  · 7  · 8  · 9  · 10 · 11 · 12 · 13 · 14 · 15 ·
 tr-a tr-a jo12

 16 · 17 · 18 · 19 ·

 dummy.com/npu-shared  capacity   4  allocatable   4  held   1  ━━━────────────
 0  ■ 1  ·
 ██░░ ░░░░
── waiting for dummy.com/npu allocatable 20 ────────────────────────────────────
 00:04.0 An NPU fails.









  ·  free   ■  held   !  suspect   ✗  unhealthy   ⊘  cordoned   ?  not known now
)");
}

TEST(View, TwoHundredColumns) {
  EXPECT_EQ(TextOf(Render(Busy(), {.columns = 200, .rows = 30, .unicode = true})), R"(
 tessera demo  a try                                                                                                                                                       ━━━━━━━━━━────────── 00:10.0
 ▸ An NPU fails.
 kubelet 1.36 ● up   agent ● 4242   pods 2   refused 1   laws hold (9)
 dummy.com/npu         capacity  20  allocatable  17  held   3  ━━━━━━──────────────────────────────────
 0         ■ 1         ✗ 2         ■ 3         ! 4         ⊘ 5         ✗ 6         · 7         · 8         · 9         · 10        · 11        · 12        · 13        · 14        · 15        ·
 train-a     train-a     job-12
             check-faile             check-faile cordoned    recovering

 16        · 17        · 18        · 19        ·


 dummy.com/npu-shared  capacity   4  allocatable   4  held   1  ━━━━━━━━━━──────────────────────────────
 0         ■ 1         ·
 █████░░░░░  ░░░░░░░░░░

── waiting for dummy.com/npu allocatable 20 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 00:04.0 An NPU fails.












  ·  free   ■  held   !  suspect   ✗  unhealthy   ⊘  cordoned   ?  not known now                                                                                                            Ctrl-C ends
)");
}

TEST(View, WithoutUnicode) {
  EXPECT_EQ(TextOf(Render(Busy(), {.columns = 80, .rows = 24, .unicode = false})), R"(
 tessera demo  a try                                   ========-------- 00:10.0
 > An NPU fails.
 kubelet 1.36 * up   agent * 4242   pods 2   refused 1   laws hold (9)
 dummy.com/npu         capacity  20  allocatable  17  held   3  ==-------------
 0  * 1  x 2  * 3  ! 4  - 5  x 6  . 7  . 8  . 9  . 10 . 11 . 12 . 13 . 14 . 15 .
 tr-a tr-a jo12

 16 . 17 . 18 . 19 .

 dummy.com/npu-shared  capacity   4  allocatable   4  held   1  ===------------
 0  * 1  .
 ##.. ....
-- waiting for dummy.com/npu allocatable 20 ------------------------------------
 00:04.0 An NPU fails.









  .  free   *  held   !  suspect   x  unhealthy   -  cordoned   ?  not known now
)");
}

TEST(View, DownIsShown) {
  Picture picture = Busy();
  picture.Update(Saw(AgentMoved{.pid = 4242, .up = false, .wanted = true, .how = "killed"}));
  kubelet::ResourceStatus npus = Npus(2);
  npus.connected = false;
  npus.devices[0].pod_namespace = "default";
  npus.devices[0].pod = "train-a";
  picture.Update(Saw(KubeletMoved{false, "stopped"}, {npus}, 11'000));
  const Frame frame = Render(picture, {.columns = 80, .rows = 12, .unicode = true});
  EXPECT_EQ(frame[2].Plain(),
            " kubelet 1.36 ● down   agent ● down   pods 2   refused 1   laws hold (9)");
  EXPECT_EQ(frame[4].Plain(), " 0       ? 1       ?");
}

TEST(View, GpusAreShownByIndexWithTheirModel) {
  kubelet::ResourceStatus gpus = Gpus({"GPU-b", "GPU-a"});
  gpus.devices[1].pod_namespace = "default";
  gpus.devices[1].pod = "train";
  Picture picture;
  picture.Update(Saw(KubeletMoved{true, "started"}));
  picture.Update(
      Saw(HardwareMade{{}, {{"0", "GPU-a", "Model 80GB"}, {"1", "GPU-b", "Model 80GB"}}}, {gpus}));
  const Frame frame = Render(picture, {.columns = 80, .rows = 24, .unicode = true});
  EXPECT_EQ(frame[3].Plain(),
            " nvidia.com/gpu  capacity   2  allocatable   2  held   1  Model 80GB  ━━━━─────");
  EXPECT_EQ(frame[4].Plain(), " 0       ■ 1       ·");
  EXPECT_EQ(frame[5].Plain(), " train");
}

TEST(View, AnySizeIsFilledAndNotOverrun) {
  const Picture picture = Busy();
  for (int columns : {1, 7, 20, 40, 79, 80, 133, 300}) {
    for (int rows : {1, 2, 3, 5, 10, 24, 50, 100}) {
      const Frame frame = Render(picture, {.columns = columns, .rows = rows, .unicode = true});
      EXPECT_EQ(frame.size(), static_cast<size_t>(rows));
      for (const TextLine& line : frame) EXPECT_LE(line.columns(), columns);
    }
  }
}

}  // namespace
}  // namespace tessera::demo
