// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_core.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/server.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "kubelet/plugin.h"
#include "kubelet/root.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr char kOne[] = "- {name: dummy.com/one, dummy: {count: 2}}\n";
constexpr char kTwo[] = "- {name: dummy.com/two, dummy: {count: 2}}\n";

class AgentTest : public testing::Test {
 protected:
  ~AgentTest() override { (void)os::RemoveTree(dir_); }

  void KubeletComes() const {
    ASSERT_TRUE(os::MakeDirectories(kubelet_.device_plugins()));
    ASSERT_TRUE(os::MakeDirectories(kubelet_.registry()));
  }
  config::Config Config(const std::string& resources, const std::string& more = "") const {
    const config::LoadResult loaded = config::Load(
        FullSchema(), {.file = config::Document::Parse(
                           "t.yaml", "version: tessera/v1\nkubelet: {root: " + kubelet_.root +
                                         ", socketPrefix: t, poll: 100ms}\nstate: {dir: " + dir_ +
                                         "/state}\ncontrol: {socket: " + dir_ +
                                         "/agent.sock}\nhttp: {address: off}\n" + more +
                                         (resources.empty() ? "" : "resources:\n") + resources)});
    EXPECT_EQ(config::Text(loaded.errors), "");
    return loaded.config;
  }
  // Its endpoints are those of so many resources.
  void AwaitEndpoints(size_t resources) {
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
      return kubelet::SocketsIn(kubelet_, "t").size() == resources;
    })) << kubelet::SocketsIn(kubelet_, "t").size();
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "agent");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  os::Loop loop_;
  http::Metrics metrics_;
};

TEST_F(AgentTest, ServesAnEndpointForEachResourceAndItsControlSocket) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(std::string(kOne) + kTwo));

  ASSERT_TRUE(agent.Start());

  AwaitEndpoints(2);
  EXPECT_TRUE(os::Exists(dir_ + "/agent.sock"));
  EXPECT_EQ(agent.fatal(), std::nullopt);
}

TEST_F(AgentTest, AnotherConfigurationEndsOneResourceAndBeginsAnother) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(kOne));
  ASSERT_TRUE(agent.Start());
  AwaitEndpoints(1);
  const auto before = kubelet::SocketsIn(kubelet_, "t");

  agent.Apply(Config(kTwo));

  AwaitEndpoints(1);
  EXPECT_NE(kubelet::SocketsIn(kubelet_, "t"), before);
  EXPECT_EQ(agent.config().resources.front().name, "dummy.com/two");
}

TEST_F(AgentTest, ASettingThatNeedsARestartStaysAsItWas) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(kOne));
  ASSERT_TRUE(agent.Start());
  config::Config next = Config(kOne);
  next.state_dir = "/elsewhere";

  agent.Apply(next);

  EXPECT_EQ(agent.config().state_dir, dir_ + "/state");
}

TEST_F(AgentTest, WithoutKubeletItWaitsAndServesOnceThatHasCome) {
  Agent agent(loop_, metrics_, FullSchema(), Config(kOne));
  ASSERT_TRUE(agent.Start());
  EXPECT_TRUE(kubelet::SocketsIn(kubelet_, "t").empty());

  KubeletComes();

  AwaitEndpoints(1);
}

TEST_F(AgentTest, WhenItEndsNoEndpointIsLeft) {
  KubeletComes();
  {
    Agent agent(loop_, metrics_, FullSchema(), Config(kOne));
    ASSERT_TRUE(agent.Start());
    AwaitEndpoints(1);
  }

  EXPECT_TRUE(kubelet::SocketsIn(kubelet_, "t").empty());
}

}  // namespace
}  // namespace tessera::agent
