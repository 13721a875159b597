// SPDX-License-Identifier: Apache-2.0
// Lists of devices, their health, and their state when a stream ends.
#include "sim/kubelet/plugin_client.h"

#include "kubelet/checkpoint.h"
#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

class DeviceList : public NodeTest {
 protected:
  Checkpoint ReadCheckpoint() {
    auto text = os::ReadFile(PluginPath(kCheckpointFile));
    EXPECT_TRUE(text);
    auto checkpoint = ParseCheckpoint(text.value_or(""));
    EXPECT_TRUE(checkpoint);
    return checkpoint.value_or(Checkpoint{});
  }
};

TEST_F(DeviceList, UnhealthyDevicesCountForCapacityOnly) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  plugin.SetDevices({{"0", "Healthy"}, {"1", "Unhealthy"}, {"2", "Sick"}, {"3", "healthy"}});
  EXPECT_TRUE(AwaitCounts(4, 1));
}

TEST_F(DeviceList, AListReplacesTheOneBefore) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  plugin.SetDevices({{"x", "Healthy"}});
  ASSERT_TRUE(AwaitCounts(1, 1));
  EXPECT_EQ(Npu().devices.front().id, "x");
}

TEST_F(DeviceList, AnEmptyListIsZeroAtOnce) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  plugin.SetDevices({});
  EXPECT_TRUE(AwaitCounts(0, 0));
  EXPECT_TRUE(Npu().connected);
}

TEST_F(DeviceList, AnIdListedTwiceWithDifferentHealthCountsTwice) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 1);
  plugin.SetDevices({{"0", "Healthy"}, {"0", "Unhealthy"}, {"1", "Healthy"}, {"1", "Healthy"}});
  EXPECT_TRUE(AwaitCounts(3, 2));
}

TEST_F(DeviceList, TwoLiveStreamsOverwriteEachOther) {
  Start();
  FakePlugin first;
  FakePlugin second;
  Bring(first, "a.sock", 4);
  Bring(second, "b.sock", 6);
  first.SetDevices(HealthyDevices(3));
  EXPECT_TRUE(AwaitCounts(3, 3));
}

TEST_F(DeviceList, AListOver4MiBEndsTheStream) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  Record();
  v1beta1::ListAndWatchResponse list;
  for (int i = 0; i < 80'000; ++i) {
    v1beta1::Device* device = list.add_devices();
    device->set_id("device-" + std::string(45, 'x') + std::to_string(i));
    device->set_health("Healthy");
  }
  plugin.SetList(std::move(list));
  ASSERT_TRUE(AwaitCounts(4, 0));
  EXPECT_TRUE(
      AwaitEvent("the list of dummy.com/npu ended: rpc error: code = ResourceExhausted desc = "));
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
}

TEST_F(DeviceList, AListJustBelow4MiBPasses) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  v1beta1::ListAndWatchResponse list;
  while (list.ByteSizeLong() < 4'000'000) {
    for (int i = 0; i < 1'000; ++i) {
      v1beta1::Device* device = list.add_devices();
      device->set_id(std::string(45, 'x') + std::to_string(list.devices_size()));
      device->set_health("Healthy");
    }
  }
  int count = list.devices_size();
  plugin.SetList(std::move(list));
  EXPECT_TRUE(AwaitCounts(count, count));
}

TEST_F(DeviceList, AfterTheGraceTheResourceStaysWithZero) {
  options.grace = Duration(10'000);  // 200 ms at this speed
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  Record();
  plugin.Shutdown();
  ASSERT_TRUE(AwaitEvent("the list of dummy.com/npu ended"));
  ASSERT_TRUE(AwaitCounts(0, 0));
  EXPECT_EQ(Npu().name, kNpu);
  EXPECT_FALSE(Npu().connected);
  EXPECT_TRUE(ReadCheckpoint().registered.empty());
}

TEST_F(DeviceList, EveryListIsInTheCheckpoint) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 3);
  EXPECT_EQ(ReadCheckpoint().registered,
            (std::map<std::string, std::vector<std::string>>{{kNpu, {"0", "1", "2"}}}));
  plugin.SetDevices({{"0", "Healthy"}, {"1", "Unhealthy"}});
  ASSERT_TRUE(AwaitCounts(2, 1));
  EXPECT_EQ(ReadCheckpoint().registered,
            (std::map<std::string, std::vector<std::string>>{{kNpu, {"0"}}}));
}

TEST_F(DeviceList, HoldersAndNumaNodesAreShown) {
  Start();
  FakePlugin plugin;
  v1beta1::ListAndWatchResponse list;
  v1beta1::Device* device = list.add_devices();
  device->set_id("a");
  device->set_health("Healthy");
  device->mutable_topology()->add_nodes()->set_id(1);
  plugin.SetList(list);
  plugin.Serve(PluginPath("a.sock"));
  ASSERT_TRUE(Register("a.sock").ok());
  ASSERT_TRUE(AwaitCounts(1, 1));
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  DeviceStatus status = Npu().devices.front();
  EXPECT_EQ(status.numa_nodes, std::vector<int>{1});
  EXPECT_EQ(status.pod_namespace + "/" + status.pod + "/" + status.container, "default/pod/app");
  EXPECT_EQ(ReadCheckpoint().entries.front().ids_by_numa.begin()->first, "1");
}

}  // namespace
}  // namespace tessera::kubelet::embedded
