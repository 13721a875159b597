// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_core.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <string>

#include "api/server.h"
#include "config/load.h"
#include "kinds/kinds.h"
#include "kubelet/plugin.h"
#include "kubelet/root.h"
#include "os/fd.h"
#include "os/files.h"

namespace tessera::agent {
namespace {

constexpr char kOneResource[] = "- {name: dummy.com/one, env: ONE, dummy: {count: 2}}\n";
constexpr char kTwoResource[] = "- {name: dummy.com/two, env: TWO, dummy: {count: 2}}\n";

class AgentTest : public testing::Test {
 protected:
  ~AgentTest() override { (void)os::RemoveTree(dir_); }

  // Starts a kubelet that listens and never answers.
  void KubeletComes() {
    ASSERT_TRUE(os::MakeDirectories(kubelet_.device_plugins()));
    sockaddr_un address{.sun_family = AF_UNIX};
    const std::string path = kubelet_.kubelet_socket();
    ASSERT_LT(path.size(), sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(socket_.get(), 16), 0);
  }
  config::Config Config(const std::string& resources, const std::string& more = "") const {
    const config::LoadResult loaded = config::Load(
        FullSchema(), {.file = config::Document::Parse(
                           "t.yaml", "version: tessera/v1\nkubelet: {root: " + kubelet_.root +
                                         ", socketPrefix: t}\nstate: {dir: " + dir_ +
                                         "/state}\ncontrol: {socket: " + dir_ +
                                         "/agent.sock}\nhttp: {address: off}\n" + more +
                                         (resources.empty() ? "" : "resources:\n") + resources)});
    EXPECT_EQ(config::Text(loaded.errors), "");
    return loaded.config;
  }
  // Waits until there are endpoints of this many resources.
  void AwaitEndpoints(size_t resources) {
    EXPECT_TRUE(fake::RunUntil(loop_, Duration(20'000), [&] {
      return kubelet::SocketsIn(kubelet_, "t").size() == resources;
    })) << kubelet::SocketsIn(kubelet_, "t").size();
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "agent");
  const kubelet::Directories kubelet_{dir_ + "/kubelet"};
  const os::Fd socket_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  os::Loop loop_;
  http::Metrics metrics_;
};

TEST_F(AgentTest, ServesAnEndpointForEachResourceAndItsControlSocket) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(std::string(kOneResource) + kTwoResource));

  ASSERT_TRUE(agent.Start());

  AwaitEndpoints(2);
  EXPECT_TRUE(os::Exists(dir_ + "/agent.sock"));
  EXPECT_EQ(agent.fatal(), std::nullopt);
}

TEST_F(AgentTest, AnotherConfigurationEndsOneResourceAndBeginsAnother) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(kOneResource));
  ASSERT_TRUE(agent.Start());
  AwaitEndpoints(1);
  const auto before = kubelet::SocketsIn(kubelet_, "t");

  agent.Apply(Config(kTwoResource));

  AwaitEndpoints(1);
  EXPECT_NE(kubelet::SocketsIn(kubelet_, "t"), before);
  EXPECT_EQ(agent.config().resources.front().name, "dummy.com/two");
}

TEST_F(AgentTest, ASettingThatNeedsARestartStaysAsItWas) {
  KubeletComes();
  Agent agent(loop_, metrics_, FullSchema(), Config(kOneResource));
  ASSERT_TRUE(agent.Start());
  config::Config next = Config(kOneResource);
  next.state_dir = "/elsewhere";

  agent.Apply(next);

  EXPECT_EQ(agent.config().state_dir, dir_ + "/state");
}

TEST_F(AgentTest, WithoutKubeletItWaitsAndServesOnceThatHasCome) {
  Agent agent(loop_, metrics_, FullSchema(), Config(kOneResource));
  ASSERT_TRUE(agent.Start());
  EXPECT_TRUE(kubelet::SocketsIn(kubelet_, "t").empty());

  KubeletComes();

  AwaitEndpoints(1);
}

TEST_F(AgentTest, WhenItEndsNoEndpointIsLeft) {
  KubeletComes();
  {
    Agent agent(loop_, metrics_, FullSchema(), Config(kOneResource));
    ASSERT_TRUE(agent.Start());
    AwaitEndpoints(1);
  }

  EXPECT_TRUE(kubelet::SocketsIn(kubelet_, "t").empty());
}

}  // namespace
}  // namespace tessera::agent
