// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/picture.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

class PictureTest : public ::testing::Test {
 protected:
  PictureTest() {
    See(KubeletMoved{true, "started"}, {});
    See(AgentMoved{.pid = 7, .up = true, .wanted = true, .how = "started"}, {});
  }
  void See(What what, std::vector<kubelet::ResourceStatus> resources, int64_t at_ms = 0) {
    picture_.Update(Saw(std::move(what), std::move(resources), at_ms));
  }
  const Tile& TileAt(size_t index) const { return picture_.panels.at(0).tiles.at(index); }
  Picture picture_;
};

TEST_F(PictureTest, DevicesAreFreeOrHeld) {
  kubelet::ResourceStatus npus = Npus(2);
  npus.devices[1].pod_namespace = "default";
  npus.devices[1].pod = "p";
  See(Listed(), {npus});
  EXPECT_EQ(TileAt(0).state, TileState::kFree);
  EXPECT_EQ(TileAt(1).state, TileState::kHeld);
  EXPECT_EQ(TileAt(1).cells, std::vector<Cell>{{"p"}});
  EXPECT_EQ(picture_.panels[0].held, 1);
}

TEST_F(PictureTest, AgentsJudgementColoursTheTile) {
  kubelet::ResourceStatus npus = Npus(3);
  npus.devices[1].healthy = false;
  See(InventoryRead{{{{kNpu, "0"}, {"suspect", "check-failed", false}},
                     {{kNpu, "1"}, {"recovering", "check-failed", false}},
                     {{kNpu, "2"}, {"healthy", "cordoned", true}}}},
      {npus});
  EXPECT_EQ(TileAt(0).state, TileState::kSuspect);
  EXPECT_EQ(TileAt(1).state, TileState::kUnhealthy);
  EXPECT_EQ(TileAt(1).why, "recovering");
  EXPECT_EQ(TileAt(2).state, TileState::kCordoned);
}

TEST_F(PictureTest, WithoutAStreamNobodyVouchesForDevices) {
  kubelet::ResourceStatus npus = Npus(1);
  npus.connected = false;
  See(Listed(), {npus});
  EXPECT_EQ(TileAt(0).state, TileState::kUnknown);
}

TEST_F(PictureTest, KubeletThatKnowsNoDevicesYetKeepsTheTiles) {
  See(Listed(), {Npus(20)});
  kubelet::ResourceStatus none;
  none.name = kNpu;
  See(KubeletMoved{true, "started"}, {none});
  ASSERT_EQ(picture_.panels[0].tiles.size(), 20u);
  EXPECT_EQ(TileAt(0).state, TileState::kUnknown);
}

TEST_F(PictureTest, TileRemembersWhenItChanged) {
  See(Listed(), {Npus(2)}, 100);
  kubelet::ResourceStatus npus = Npus(2);
  npus.devices[1].healthy = false;
  See(Listed(), {npus}, 900);
  EXPECT_EQ(TileAt(0).changed, Duration(100));
  EXPECT_EQ(TileAt(1).changed, Duration(900));
}

TEST_F(PictureTest, AgentsComeAndGo) {
  See(AgentMoved{.pid = 8, .up = true, .wanted = true, .how = "started"}, {});
  See(AgentMoved{.pid = 7, .up = false, .wanted = true, .how = "stopped"}, {});
  EXPECT_EQ(picture_.agents, std::vector<pid_t>{8});
}

TEST_F(PictureTest, GpusAreInTheOrderOfTheirIndices) {
  See(
      HardwareMade{
          {},
          {{"2", "GPU-c", "NVIDIA big"}, {"10", "GPU-a", "NVIDIA big"}, {"2:0", "MIG-b", "1g"}}},
      {Gpus({"GPU-a", "GPU-c"})});
  EXPECT_EQ(TileAt(0).label, "2");
  EXPECT_EQ(TileAt(0).id, "GPU-c");
  EXPECT_EQ(TileAt(1).label, "10");
  EXPECT_EQ(picture_.panels[0].model, "big");
}

TEST_F(PictureTest, VirtualGpusHaveWhatPodsWereGivenOfTheirMemoryAndComputeTime) {
  const std::vector<kubelet::ResourceStatus> gpus = {
      Gpus({FirstGpu(0), FirstGpu(1), SecondGpu(0)})};
  See(TwoGpus(), {});
  See(DividedByTen(), {});
  See(LimitsRead{{LimitsOf("a", {FirstGpu(0), FirstGpu(1)}, {{"any", "thing"}})}}, gpus);
  EXPECT_EQ(TileAt(0).memory, 81560);
  EXPECT_EQ(TileAt(0).taken, (std::vector<PodUse>{{"a", 16312, 20}}));
  EXPECT_EQ(TileAt(1).taken, std::vector<PodUse>());

  See(PodEnded{"a"}, gpus, 900);
  EXPECT_EQ(TileAt(0).taken, std::vector<PodUse>());
  EXPECT_EQ(TileAt(0).changed, Duration(900));
}

TEST_F(PictureTest, GpusOfTwoModelsHaveNoModelInCommon) {
  See(HardwareMade{{}, {{"0", "GPU-a", "big"}, {"1", "GPU-b", "small"}}},
      {Gpus({"GPU-a", "GPU-b"})});
  EXPECT_EQ(picture_.panels[0].model, "");
}

TEST_F(PictureTest, EventsForMachinesAreLeftOut) {
  picture_.Add({.text = "a", .details = {}});
  Event quiet;
  quiet.quiet = true;
  picture_.Add(quiet);
  EXPECT_EQ(picture_.events.size(), 1u);
}

}  // namespace
}  // namespace tessera::demo
