// SPDX-License-Identifier: Apache-2.0
#include "compat/config_manager/config_choice.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "api/server.h"
#include "base/captured_log_test.h"
#include "json/json.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera::config_manager {
namespace {

// Chooses once, with an API server on its own thread that has the node.
class ConfigChoiceTest : public testing::Test {
 protected:
  ConfigChoiceTest() {
    std::signal(SIGPIPE, SIG_IGN);
    options_.oneshot = true;
    options_.kubeconfig = directory_ + "/kubeconfig";
    options_.node = "n1";
    options_.label = "config";
    options_.directory = directory_ + "/available";
    options_.link = directory_ + "/config.yaml";
    options_.process = directory_ + "/plugin";  // a name that no other process has
    Put("available/one", "version: v1\n");
    Put("available/two", "version: v1\n");
  }
  ~ConfigChoiceTest() override { (void)os::RemoveTree(directory_); }

  void Put(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    ASSERT_TRUE(os::MakeDirectories(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(path, text));
  }
  // The exit code.
  int Choose(const std::string& label) {
    const json::Value node = json::Object{
        {"metadata", json::Object{{"name", "n1"}, {"labels", json::Object{{"config", label}}}}}};
    const json::Value list =
        json::Object{{"metadata", json::Object{{"resourceVersion", "1"}}}, {"items", {node}}};
    os::Loop loop;
    const fake::Server server(loop, [&](const fake::Asked&, fake::Peer& peer) {
      peer.Send(fake::Answer(200, json::Write(list)));
    });
    Put("kubeconfig",
        fmt::format("clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{}'}}}}]\n"
                    "contexts: [{{name: x, context: {{cluster: c}}}}]\ncurrent-context: x\n",
                    server.port()));
    std::thread serving([&loop] { loop.Run(); });
    const int code = RunConfigChoice(options_);
    loop.Stop();
    serving.join();
    return code;
  }
  std::string Link() const { return os::ReadLink(options_.link).value_or("none"); }
  // A process of that name.
  pid_t StartPlugin() {
    std::string name = options_.process;
    std::string time = "600";
    char* const words[] = {name.data(), time.data(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, "/bin/sleep", nullptr, nullptr, words, environ), 0);
    return pid;
  }
  // The signal that ended it; SIGKILL if only the test's own did.
  static int EndOf(pid_t pid) {
    int status = 0;
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-choice-").value();
  ConfigChoiceOptions options_;
  CapturedLog log_;
};

TEST_F(ConfigChoiceTest, TheLinkLeadsToTheFileThatTheLabelNames) {
  EXPECT_EQ(Choose("one"), 0);
  EXPECT_EQ(Link(), options_.directory + "/one");

  EXPECT_EQ(Choose("two"), 0);
  EXPECT_EQ(Link(), options_.directory + "/two");
}

TEST_F(ConfigChoiceTest, ALabelThatNamesNoFileLeavesTheLink) {
  EXPECT_EQ(Choose("one"), 0);

  EXPECT_EQ(Choose("three"), 1);
  EXPECT_EQ(Link(), options_.directory + "/one");
}

TEST_F(ConfigChoiceTest, TheProcessIsToldWhenTheLinkLeadsElsewhereAlsoOnce) {
  options_.signal = SIGUSR1;
  const pid_t plugin = StartPlugin();

  EXPECT_EQ(Choose("one"), 0);

  EXPECT_EQ(EndOf(plugin), SIGUSR1);
}

TEST_F(ConfigChoiceTest, NobodyToBeToldIsAFailureOfWhoChoosesOnce) {
  options_.signal = SIGUSR1;

  EXPECT_EQ(Choose("one"), 1);
  EXPECT_EQ(Link(), options_.directory + "/one");

  EXPECT_EQ(Choose("one"), 0) << "it stands, and there is nothing to tell";
}

TEST_F(ConfigChoiceTest, ALinkThatLeadsToTheFileByAnotherWayStays) {
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/way", options_.directory));
  ASSERT_TRUE(os::ReplaceLink(options_.link, directory_ + "/way/one"));
  options_.signal = SIGUSR1;

  EXPECT_EQ(Choose("one"), 0) << "nobody need be told";

  EXPECT_EQ(Link(), directory_ + "/way/one");
}

TEST_F(ConfigChoiceTest, ALinkThatLeadsNowhereIsReplaced) {
  ASSERT_TRUE(os::ReplaceLink(options_.link, directory_ + "/gone"));

  EXPECT_EQ(Choose("one"), 0);
  EXPECT_EQ(Link(), options_.directory + "/one");
}

}  // namespace
}  // namespace tessera::config_manager
