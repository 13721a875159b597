// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "os/files.h"
#include "os/unix_socket.h"
#include "sim/cli/kubelet_command.h"
#include "sim/cli/kubelet_server.h"
#include "sim/cli/kubelet_view.h"

namespace tessera::cli {
namespace {

class KubeletOrders : public testing::Test {
 protected:
  void SetUp() override {
    options.root = *os::MakeTemporaryDirectory(testing::TempDir() + "kubelet-");
    server = std::make_unique<KubeletServer>(
        loop, options, [this](const std::string& line) { lines.push_back(line); });
    Status started = server->Start();
    ASSERT_TRUE(started) << started.error().message;
  }
  void TearDown() override {
    server.reset();
    (void)os::RemoveTree(options.root);
  }
  // The answer's body, compact, or its error's message.
  std::string Ask(const std::string& path, std::map<std::string, std::string> query = {}) {
    return Body(server->Answer({"GET", path, std::move(query), ""}));
  }
  std::string Tell(const std::string& path, const std::string& body = "") {
    return Body(server->Answer({"POST", path, {}, body}));
  }
  // The result of a ticket.
  std::string Outcome(const std::string& ticket) {
    std::string result = R"({"done":false})";
    while (result == R"({"done":false})") {
      loop.RunOnce();
      result = Ask("/result", {{"ticket", ticket}});
    }
    return result;
  }

  os::Loop loop;
  kubelet::EmbeddedOptions options;
  std::vector<std::string> lines;
  std::unique_ptr<KubeletServer> server;

 private:
  static std::string Body(const http::Response& response) {
    if (response.status >= 400) return http::FailureIn(response).message;
    auto value = json::Parse(response.body);
    return value ? json::Write(*value) : response.body;
  }
};

TEST_F(KubeletOrders, APodIsRunAndEnded) {
  EXPECT_EQ(Tell("/run", R"({"pod":"p","containers":[{"name":"app","kind":"app"}]})"),
            R"({"ticket":1})");
  EXPECT_EQ(Outcome("1"), R"({"done":true,"admitted":true,"reason":"","message":"","grants":[],)"
                          R"("start_failures":[]})");
  EXPECT_EQ(Ask("/status"), R"({"running":true,"resources":[],"pods":["default/p"]})");
  EXPECT_EQ(Tell("/end", R"({"pod":"default/p"})"), R"({"done":true})");
  EXPECT_EQ(Tell("/end", R"({"pod":"p"})"), "no pod default/p runs");
}

TEST_F(KubeletOrders, ARefusalIsAnOutcome) {
  Tell("/run", R"({"pod":"ns/p","containers":[{"name":"app","limits":{"a.com/b":2}}]})");
  EXPECT_EQ(Outcome("1"),
            R"({"done":true,"admitted":false,"reason":"OutOfa.com/b","message":)"
            R"("Node didn't have enough resource: a.com/b, requested: 2, used: 0, capacity: 0",)"
            R"("grants":[],"start_failures":[]})");
}

TEST_F(KubeletOrders, ANonsenseOrderSaysWhatIsWrong) {
  EXPECT_EQ(Tell("/run", "{}"), "\"pod\" is missing");
  EXPECT_EQ(Tell("/run", R"({"pod":"p"})"), "\"containers\" is missing");
  EXPECT_EQ(Tell("/dance"), "there is no order dance");
  EXPECT_EQ(Tell("/drop", R"({"resource":"a.com/b"})"), "no plugin is connected for a.com/b");
  EXPECT_EQ(Ask("/elsewhere"), "there is nothing at /elsewhere");
  EXPECT_EQ(Ask("/result", {{"ticket", "9"}}), "there is no such ticket");
}

TEST_F(KubeletOrders, KubeletIsKilledAndStartedAgain) {
  EXPECT_EQ(Tell("/kill"), R"({"done":true})");
  EXPECT_EQ(Ask("/status"), R"({"running":false,"resources":[],"pods":[]})");
  EXPECT_EQ(Tell("/restart"), "kubelet is down; 'start' starts it again");
  EXPECT_EQ(Tell("/start"), R"({"done":true})");
  EXPECT_EQ(Tell("/start"), "kubelet runs already");
  EXPECT_EQ(Tell("/restart"), R"({"done":true})");
}

TEST_F(KubeletOrders, ASecondOneLeavesTheFirstAlone) {
  KubeletServer second(loop, options, [](const std::string&) {});
  Status started = second.Start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, options.root + "/control.sock has a live listener");
  EXPECT_EQ(Tell("/restart"), R"({"done":true})");
}

TEST_F(KubeletOrders, TheNodesOwnKubeletIsLeftAlone) {
  Tell("/kill");
  ASSERT_TRUE(os::RemoveStaleSocket(options.root + "/device-plugins/kubelet.sock"));
  auto other = os::ListenUnix(options.root + "/device-plugins/kubelet.sock");
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(Tell("/start"),
            "another kubelet listens on " + options.root + "/device-plugins/kubelet.sock");
}

TEST_F(KubeletOrders, EventsAreKeptAndPrinted) {
  Tell("/restart");
  server->Stop();
  loop.RunOnce();
  std::vector<std::string> texts;
  for (const std::string& line : lines) texts.push_back(line.substr(line.find(' ') + 1));
  EXPECT_EQ(texts, (std::vector<std::string>{"kubelet started", "kubelet stopped",
                                             "kubelet started", "kubelet stopped"}));
  EXPECT_NE(Ask("/events", {{"after", "3"}}).find(R"("last":4,"events":[{"number":4,)"),
            std::string::npos);
}

// Orders from a command line on another thread, while the loop runs here.
class KubeletCommandLine : public KubeletOrders {
 protected:
  // Exit code, then what was written to either output.
  std::string Run(const std::string& verb, const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = -1;
    std::thread person([&] {
      code = KubeletControl(options.root, verb, arguments);
      loop.Stop();
    });
    loop.Run();
    person.join();
    std::string out = testing::internal::GetCapturedStdout();
    return std::to_string(code) + " " + out + testing::internal::GetCapturedStderr();
  }
};

TEST_F(KubeletCommandLine, APodIsRunWithItsContainers) {
  EXPECT_EQ(Run("run", {"p"}), "0 admitted\n");
  EXPECT_EQ(Run("run", {"q", "--init", "a.com/b=1", "--limits", "a.com/b=2,a.com/c=0"}),
            "1 refused: OutOfa.com/b: Node didn't have enough resource: a.com/b, requested: 2, "
            "used: 0, capacity: 0\n");
  EXPECT_EQ(Run("restart-container", {"p", "app"}), "0 started\n");
  EXPECT_EQ(Run("end", {"p"}), "0 ");
}

TEST_F(KubeletCommandLine, StatusAndEventsAreShown) {
  EXPECT_EQ(Run("status", {}), "0 no plugin has registered\n");
  EXPECT_EQ(Run("kill", {}), "0 ");
  EXPECT_EQ(Run("status", {}), "0 kubelet is down\n");
  std::string events = Run("events", {"--last", "1"});
  EXPECT_TRUE(events.ends_with("Z kubelet was killed\n")) << events;
}

TEST_F(KubeletCommandLine, AContainerThatIsNotThereIsNotFound) {
  EXPECT_EQ(Run("run", {"p"}), "0 admitted\n");
  EXPECT_EQ(Run("restart-container", {"p", "other"}),
            "1 tessera: pod default/p has no container other [not-found]: look at the name or "
            "path that was given; 'tessera devices' lists the devices that are here\n");
}

TEST_F(KubeletCommandLine, AMistakeIsExplained) {
  auto error = [](const std::string& what) {
    return "1 tessera: " + what + " [invalid]: correct the value named\n";
  };
  EXPECT_EQ(Run("run", {}), error("the pod's name is missing"));
  EXPECT_EQ(Run("run", {"p", "--limits"}), error("\"--limits\" is not a flag with its limits"));
  EXPECT_EQ(Run("run", {"p", "--limits", "x"}), error("\"x\" is not RESOURCE=COUNT"));
  EXPECT_EQ(Run("run", {"p", "--limits", "a.com/b=2x"}),
            error("\"a.com/b=2x\" is not RESOURCE=COUNT"));
  EXPECT_EQ(Run("end", {}), error("end takes 1 argument, not 0"));
  EXPECT_EQ(Run("events", {"--all"}), error("\"--all\" is neither --follow nor --last N"));
  EXPECT_EQ(Run("events", {"--last", "5x"}), error("\"5x\" is not a number"));
}

TEST(KubeletView, TheStatusShowsResourcesAndWhatIsNotJustFree) {
  auto status = json::Parse(
      R"({"running":true,"pods":["ns/p","ns/q"],"resources":[{"name":"a.com/b","capacity":3,"allocatable":2,)"
      R"("connected":true,"devices":[)"
      R"({"id":"0","healthy":true,"numa":[],"pod":"","container":""},)"
      R"({"id":"1","healthy":false,"numa":[],"pod":"","container":""},)"
      R"({"id":"2","healthy":true,"numa":[0,1],"pod":"ns/p","container":"app"}]}]})");
  ASSERT_TRUE(status);
  EXPECT_EQ(KubeletStatusText(status->get_object(), {}),
            "RESOURCE  CAPACITY  ALLOCATABLE  PLUGIN\n"
            "a.com/b          3            2  connected\n"
            "\n"
            "RESOURCE  DEVICE  HEALTH     NUMA  POD   CONTAINER\n"
            "a.com/b   1       unhealthy\n"
            "a.com/b   2       healthy    0,1   ns/p  app\n"
            "\n"
            "2 pods: ns/p, ns/q\n");
}

TEST(KubeletView, AnAdmissionShowsGrantsOrTheRefusal) {
  auto admitted = json::Parse(
      R"({"admitted":true,"grants":[{"container":"app","resource":"a.com/b","ids":["1","2"],)"
      R"("envs":{"IDS":"1,2"}}],"start_failures":[{"container":"app","message":"broken"}]})");
  ASSERT_TRUE(admitted);
  EXPECT_EQ(AdmissionText(admitted->get_object()),
            "admitted\n  app: a.com/b 1,2\n    IDS=1,2\n  app did not start: broken\n");
  auto refused = json::Parse(R"({"admitted":false,"reason":"OutOfa.com/b","message":"none left"})");
  ASSERT_TRUE(refused);
  EXPECT_EQ(AdmissionText(refused->get_object()), "refused: OutOfa.com/b: none left\n");
}

}  // namespace
}  // namespace tessera::cli
