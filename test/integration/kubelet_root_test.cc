// SPDX-License-Identifier: Apache-2.0
// Where the agent looks for kubelet without a configured root.
#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

class KubeletRootTest : public AgentTest {
 protected:
  // As other tests' agents, but this one looks for kubelet below dir_ in the usual places.
  void StartAgentThatSeeks() {
    std::string text =
        Config("  - {name: dummy.com/npu, dummy: {count: 4}}\n", "rootPrefix: " + dir_ + "\n");
    const std::string root = "root: " + dir_ + "/kubelet, ";
    text.replace(text.find(root), root.size(), "");
    // No event reports a directory that does not exist yet, so the agent must poll.
    WriteConfig(WithPolling(text));
    agent_ = StartAgent();
  }
  void StartKubeletIn(const std::string& place) {
    kubelet::EmbeddedOptions options;
    options.root = dir_ + place;
    auto started = kubelet::EmbeddedKubelet::Start(options);
    ASSERT_TRUE(started) << started.error().message;
    kubelet_ = *std::move(started);
  }
};

TEST_F(KubeletRootTest, KubeletIsFoundInEachOfItsUsualPlaces) {
  // MicroK8s' path is too long below a test's directory; root_test.cc tests it.
  for (const char* place : {"/var/lib/kubelet", "/var/lib/k0s/kubelet"}) {
    SCOPED_TRACE(place);
    StartKubeletIn(place);
    StartAgentThatSeeks();
    Expect(kNpu, 4, 4);
    EndAgent(SIGTERM);
    kubelet_.reset();
    ASSERT_TRUE(os::RemoveTree(dir_ + place));
  }
}

TEST_F(KubeletRootTest, AKubeletThatComesLaterInAnotherPlaceIsFound) {
  StartAgentThatSeeks();
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Array* devices = json::GetArray(page, "devices");
    return devices != nullptr && devices->size() == 4;
  }));

  const Steady ended = SystemClock().Now();
  StartKubeletIn("/var/lib/k0s/kubelet");

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_NE(Log().find("kubelet's directory was not found reason=kubelet-absent error=\"the agent "
                       "waits for " +
                       dir_ + "/var/lib/kubelet\""),
            std::string::npos);
}

TEST_F(KubeletRootTest, HowToRegisterIsDecidedWhenKubeletHasCome) {
  const std::string place = "/var/lib/kubelet";
  StartAgentThatSeeks();
  const auto registers = [this](std::string_view path) {
    return AwaitPage("/inventory", [&](const json::Object& page) {
      const json::Array* resources = json::GetArray(page, "resources");
      return resources != nullptr && resources->size() == 1 &&
             json::GetString(*resources->front().if_object(), "registration") == path;
    });
  };
  ASSERT_TRUE(registers("kubelet-socket"));

  ASSERT_TRUE(os::MakeDirectories(dir_ + place + "/plugins_registry"));

  ASSERT_TRUE(registers("plugin-watcher"));
  StartKubeletIn(place);
  Expect(kNpu, 4, 4);
}

TEST_F(KubeletRootTest, ADirectoryWhoseSocketsHaveTooLongPathsIsNamed) {
  std::string text = Config(kFour);
  const std::string long_root = dir_ + "/" + std::string(100, 'k');
  const std::string root = "root: " + dir_ + "/kubelet, ";
  text.replace(text.find(root), root.size(), "root: " + long_root + ", ");
  WriteConfig(text);
  agent_ = StartAgent();

  const std::string path = long_root + "/device-plugins/kubelet.sock";
  EXPECT_TRUE(
      AwaitLog("waiting for kubelet resource=dummy.com/npu reason=socket-path-too-long "
               "error=\"socket path " +
               path + " is " + std::to_string(path.size()) + " bytes long\""));
}

TEST_F(KubeletRootTest, ADirectoryThatIsNotThereIsNamedOnce) {
  std::string text = Config(kFour);
  text.replace(text.find("root: "), 0, "registration: plugin-watcher, ");
  WriteConfig(text);
  agent_ = StartAgent();

  ASSERT_TRUE(AwaitMetric("tessera_ledger_reconciliations_total{result=\"failed\"}", 3));

  const std::string log = Log();
  const size_t first = log.find("cannot serve resource=dummy.com/npu reason=not-found");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("cannot serve", first + 1), std::string::npos);
}

}  // namespace
}  // namespace tessera
