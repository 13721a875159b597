// SPDX-License-Identifier: Apache-2.0
// Files of other programs in kubelet's directory, under names like ours.
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "agent_fixture.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

constexpr uid_t kOtherUser = 65534;

class SocketFaultsTest : public AgentTest {
 protected:
  SocketFaultsTest() { EXPECT_TRUE(os::MakeDirectories(plugins_)); }

  const std::string plugins_ = dir_ + "/kubelet/device-plugins";
};

TEST_F(SocketFaultsTest, PlantedSymbolicLinksAreNeitherFollowedNorRemoved) {
  const std::string precious = dir_ + "/precious";
  ASSERT_TRUE(os::WriteFileAtomically(precious, "precious"));
  for (const char* name :
       {"/tessera-dummy.com_npu-0000000000000000.sock", "/tessera-x-0000000000000001.sock"}) {
    ASSERT_EQ(symlink(precious.c_str(), (plugins_ + name).c_str()), 0);
  }
  ASSERT_EQ(symlink(precious.c_str(), (dir_ + "/agent.sock").c_str()), 0);

  StartAll(kFour);

  Expect(kNpu, 4, 4);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  EXPECT_EQ(os::ReadFile(precious).value_or("gone"), "precious");
  EXPECT_EQ(os::Inspect(plugins_ + "/tessera-x-0000000000000001.sock")->type,
            os::FileInfo::Type::kSymlink);
  EXPECT_TRUE(AwaitLog("WARN the control socket is not open yet reason=socket-planted error=\"" +
                       dir_ + "/agent.sock exists and is not ours to replace\" advice="));
  ASSERT_TRUE(os::RemoveFile(dir_ + "/agent.sock"));
  EXPECT_TRUE(AwaitPage("/ledger", [](const json::Object& page) { return !page.empty(); }));
  EXPECT_EQ(MetricNow(R"(tessera_unusable_files_total{reason="socket-planted"})"), 3);
  EXPECT_TRUE(AwaitLog(
      "WARN files that have our sockets' names are not sockets; they stay count=2 "
      "reason=socket-planted error=\"" +
      plugins_ + "/tessera-dummy.com_npu-0000000000000000.sock is not a socket\" advice="));
}

TEST_F(SocketFaultsTest, FilesOfOthersUnderOurNamesStay) {
  const Names others = {"tessera-a-0123456789abcdef.sock", "tessera-b-0123456789abcdef.sock",
                        "tessera-c-0123456789abcdef.sock"};
  ASSERT_TRUE(os::WriteFileAtomically(plugins_ + "/" + others[0], "precious"));
  ASSERT_TRUE(os::MakeDirectories(plugins_ + "/" + others[1]));
  auto live = os::ListenUnix(plugins_ + "/" + others[2]);
  ASSERT_TRUE(live);
  if (geteuid() == 0) {
    for (const std::string& name : others) {
      ASSERT_EQ(lchown((plugins_ + "/" + name).c_str(), kOtherUser, kOtherUser), 0);
    }
  }
  // No kubelet runs here, as its start would remove these files.
  WriteConfig(Config(kFour));
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) { return !page.empty(); }));

  EXPECT_EQ(OwnSockets(), others);
  EXPECT_EQ(os::ReadFile(plugins_ + "/" + others[0]).value_or("gone"), "precious");
  EXPECT_EQ(LinesWith("WARN files that have our sockets' names are not sockets; they stay count=2 "
                      "reason=socket-planted error=\"" +
                      plugins_ + "/" + others[0] + " is not a socket\" advice="),
            1u);
  EXPECT_EQ(MetricNow(R"(tessera_unusable_files_total{reason="socket-planted"})"), 2);
}

TEST_F(SocketFaultsTest, TenThousandStaleSocketsAreRemovedAtOnceAndToldInOneLine) {
  constexpr int kStale = 10'000;
  for (int i = 0; i < kStale; ++i) {
    ASSERT_TRUE(os::ListenUnix(fmt::format("{}/tessera-old-{:016x}.sock", plugins_, i)));
  }
  WriteConfig(Config(kFour));
  agent_ = StartAgent();

  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) { return !page.empty(); }));
  EXPECT_EQ(OwnSockets(), Names{});
  EXPECT_NE(Log().find("INFO removed stale sockets directory=" + dir_ + "/kubelet count=10000\n"),
            std::string::npos);
  EXPECT_EQ(MetricNow("tessera_stale_sockets_total"), kStale);
}

}  // namespace
}  // namespace tessera
