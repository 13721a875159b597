// SPDX-License-Identifier: Apache-2.0
// The agent as a system service: its manager, its user, and the reader of its log.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "agent_fixture.h"
#include "notify_socket.h"
#include "os/fd.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr uid_t kNobodysUser = 65534;

class ServiceTest : public AgentTest {
 protected:
  std::vector<std::string> Notifying() const {
    return {"/usr/bin/env", "NOTIFY_SOCKET=" + dir_ + "/notify"};
  }
};

TEST_F(ServiceTest, TheServiceManagerIsToldOfReadinessOnceAllIsChecked) {
  NotifySocket manager(dir_ + "/notify");
  std::string config = Config(kFour);
  config.replace(config.find("checkTimeout: 30s, "), 19, "checkTimeout: 1h, staleAfter: 2h, ");
  WriteConfig(config);
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state/dummy"));
  SetFaults({{"3", {{"slowMs", 3'600'000}}}});
  StartKubelet();
  agent_ = StartAgent(Notifying());

  // Only the check of device 3 is missing: the agent serves, and has compared its ledger again and
  // again.
  Expect(kNpu, 4, 0);
  ASSERT_TRUE(AwaitMetric(R"(tessera_ledger_reconciliations_total{result="good"})", 3));
  EXPECT_EQ(manager.Next(MSG_DONTWAIT), "");

  Fault("heal", "3");
  EXPECT_EQ(manager.Next(), "READY=1");
}

TEST_F(ServiceTest, TheServiceManagerIsToldOfTheEnd) {
  NotifySocket manager(dir_ + "/notify");
  WriteConfig(Config(kFour));
  StartKubelet();
  agent_ = StartAgent(Notifying());
  ASSERT_EQ(manager.Next(), "READY=1");

  agent_.Signal(SIGTERM);
  EXPECT_EQ(manager.Next(), "STOPPING=1");
  EXPECT_EQ(agent_.Wait(), 0);
}

TEST_F(ServiceTest, AnotherUserThanRootServesInDirectoriesOfItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  WriteConfig(Config(kFour));
  StartKubelet();
  ASSERT_EQ(chown(dir_.c_str(), kNobodysUser, kNobodysUser), 0);
  for (const auto& each : std::filesystem::recursive_directory_iterator(dir_)) {
    ASSERT_EQ(lchown(each.path().c_str(), kNobodysUser, kNobodysUser), 0) << each.path();
  }
  // The user may have no access to the program's directory, so the shell opens it before.
  agent_ = StartAgent({"/bin/sh", "-c",
                       "exec 9<\"$1\"; shift; exec setpriv --reuid 65534 --regid 65534 "
                       "--clear-groups --inh-caps=-all --bounding-set=-all "
                       "/proc/self/fd/9 \"$@\"",
                       "sh"});

  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 2}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  struct stat process{};
  ASSERT_EQ(stat(("/proc/" + std::to_string(agent_.pid())).c_str(), &process), 0);
  EXPECT_EQ(process.st_uid, kNobodysUser);
}

TEST_F(ServiceTest, AFullLogPipeThatNobodyReadsBlocksNothing) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  os::Fd pipe(open((dir_ + "/pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(pipe.valid());
  while (write(pipe.get(), "x", 1) == 1) {
  }
  ASSERT_EQ(errno, EAGAIN);
  WriteConfig(Config(kFour, "log: {level: debug}\n"));
  StartKubelet();
  // gRPC logs much if asked to, and must not block on the pipe either.
  agent_ = StartAgent(
      {"/bin/sh", "-c", "exec env GRPC_VERBOSITY=DEBUG \"$@\" 2>" + dir_ + "/pipe", "sh"});

  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 2}});
  EXPECT_TRUE(pod.admitted) << pod.message;
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);
  agent_.Signal(SIGTERM);
  EXPECT_EQ(agent_.Wait(), 0);
}

}  // namespace
}  // namespace tessera
