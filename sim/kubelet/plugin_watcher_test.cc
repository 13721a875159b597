// SPDX-License-Identifier: Apache-2.0
// Registration by a socket below plugins_registry.
#include "sim/kubelet/plugin_watcher.h"

#include <cstdio>

#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

class Watching : public NodeTest {
 protected:
  std::string RegistryPath(const std::string& name) {
    return options.root + "/plugins_registry/" + name;
  }
  void Serve(FakePlugin& plugin, const std::string& name) {
    plugin.SetDevices(HealthyDevices(4));
    plugin.Serve(RegistryPath(name));
  }
  static std::string FirstNotice(FakePlugin& plugin) {
    EXPECT_TRUE(plugin.Await([](auto& p) { return !p.notified.empty(); }));
    return plugin.Read(&FakePlugin::notified).front();
  }
};

TEST_F(Watching, ASocketThatAppearsIsRegisteredAndTold) {
  Start();
  FakePlugin plugin;
  Serve(plugin, "a-reg.sock");
  EXPECT_TRUE(AwaitCounts(4, 4));
  EXPECT_EQ(FirstNotice(plugin), "true");
  EXPECT_EQ(plugin.Read(&FakePlugin::options_deadline), Duration(0));
}

TEST_F(Watching, SubDirectoriesAreSearched) {
  Start();
  ASSERT_TRUE(os::MakeDirectories(RegistryPath("deep/er")));
  FakePlugin plugin;
  Serve(plugin, "deep/er/a.sock");
  EXPECT_TRUE(AwaitCounts(4, 4));
}

TEST_F(Watching, AHiddenSocketIsSeenOnceItIsRenamed) {
  Start();
  FakePlugin hidden;
  Serve(hidden, ".a.sock");
  FakePlugin other({.resource = "dummy.com/other"});
  Serve(other, "other.sock");
  EXPECT_EQ(FirstNotice(other), "true");
  EXPECT_TRUE(hidden.Read(&FakePlugin::notified).empty());
  ASSERT_EQ(std::rename(RegistryPath(".a.sock").c_str(), RegistryPath("a.sock").c_str()), 0);
  EXPECT_EQ(FirstNotice(hidden), "true");
}

TEST_F(Watching, TheEndpointMayBeAnotherSocket) {
  Start();
  std::string elsewhere = options.root + "/plugin.sock";
  FakePlugin plugin;
  plugin.SetDevices(HealthyDevices(2));
  plugin.Serve(elsewhere);
  FakePlugin registrar({.endpoint = elsewhere});
  registrar.Serve(RegistryPath("a.sock"));
  EXPECT_TRUE(AwaitCounts(2, 2));
  EXPECT_EQ(registrar.Read(&FakePlugin::list_calls), 0);
}

TEST_F(Watching, ARemovedSocketDeregistersThePlugin) {
  Start();
  FakePlugin plugin;
  Serve(plugin, "a.sock");
  ASSERT_TRUE(AwaitCounts(4, 4));
  EXPECT_EQ(FirstNotice(plugin), "true");
  ASSERT_TRUE(os::RemoveFile(RegistryPath("a.sock")));
  EXPECT_TRUE(AwaitCounts(4, 0));
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
}

TEST_F(Watching, ASuccessorAtTheSamePathIsRegistered) {
  Start();
  {
    FakePlugin plugin;
    Serve(plugin, "a.sock");
    ASSERT_TRUE(AwaitCounts(4, 4));
    EXPECT_EQ(FirstNotice(plugin), "true");
  }
  FakePlugin successor;
  Serve(successor, "a.sock");
  EXPECT_EQ(FirstNotice(successor), "true");
  EXPECT_TRUE(AwaitCounts(4, 4));
}

TEST_F(Watching, AnotherKindOfPluginIsRefused) {
  Start();
  FakePlugin plugin({.type = "CSIPlugin"});
  Serve(plugin, "a.sock");
  EXPECT_EQ(FirstNotice(plugin),
            "RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket " +
                RegistryPath("a.sock"));
}

TEST_F(Watching, APluginOfAnotherVersionIsRefused) {
  Start();
  FakePlugin plugin({.versions = {"v1", "v1alpha1"}});
  Serve(plugin, "a.sock");
  EXPECT_EQ(FirstNotice(plugin),
            "RegisterPlugin error -- plugin validation failed with err: manager version, v1beta1, "
            "is not among plugin supported versions [v1 v1alpha1]");
}

TEST_F(Watching, ANameThatIsNoResourceIsRefused) {
  Start();
  FakePlugin plugin({.resource = "npu"});
  Serve(plugin, "a.sock");
  EXPECT_EQ(FirstNotice(plugin),
            "RegisterPlugin error -- plugin validation failed with err: invalid name of device "
            "plugin socket: the ResourceName \"npu\" is invalid");
}

TEST_F(Watching, APluginThatDoesNotTakeTheNoticeIsDroppedAndTriedAgain) {
  Start();
  FakePlugin plugin({.notify_status = {grpc::StatusCode::INTERNAL, "broken"}});
  Serve(plugin, "a.sock");
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.notified.size() >= 3; }));
  // Each time it was connected again, so it had been dropped.
  EXPECT_GE(plugin.Read(&FakePlugin::options_calls), 3);
}

TEST_F(Watching, AfterARestartOfKubeletThePluginNeedDoNothing) {
  Start();
  FakePlugin plugin;
  Serve(plugin, "a.sock");
  ASSERT_TRUE(AwaitCounts(4, 4));
  kubelet->Kill();
  Start();
  EXPECT_TRUE(os::Exists(RegistryPath("a.sock")));
  EXPECT_TRUE(AwaitCounts(4, 4));
}

}  // namespace
}  // namespace tessera::kubelet::embedded
