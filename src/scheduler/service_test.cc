// SPDX-License-Identifier: Apache-2.0
#include "scheduler/service.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <optional>
#include <vector>

#include "api/server.h"
#include "hami/node_register.h"
#include "http/blocking.h"
#include "http/remote.h"
#include "http/slow_clients_test.h"
#include "json/json.h"

namespace tessera::scheduler {
namespace {

constexpr Duration kPatience{30'000};

// A fake API server with one node of one GPU and one waiting pod.
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() { std::signal(SIGPIPE, SIG_IGN); }

  void Start(const LeaseName& lease = {}, const std::vector<std::string>& node_labels = {}) {
    auto service =
        Service::Start(loop_, SystemClock(),
                       {.access = {.host = "127.0.0.1", .port = api_.port(), .tls = false},
                        .extender_address = "127.0.0.1:0",
                        .status_address = "127.0.0.1:0",
                        .node_labels = node_labels,
                        .lease = lease});
    ASSERT_TRUE(service) << service.error().Text();
    service_ = *std::move(service);
  }
  // The answer, or the error.
  std::string Call(int port, const http::Request& request) {
    auto answer = std::async(std::launch::async, [port, request] {
      return http::CallTcp(fmt::format("127.0.0.1:{}", port), request, kPatience);
    });
    const auto is_there = [&] {
      return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    EXPECT_TRUE(fake::RunUntil(loop_, kPatience, is_there));
    const auto response = answer.get();
    return response ? response->body : response.error().message;
  }
  std::string Post(const std::string& path, const std::string& body) {
    return Call(service_->extender_port(), {"POST", path, {}, body});
  }
  void AwaitReady() {
    while (Call(service_->status_port(), {"GET", "/readyz", {}, ""}) != "ok\n") {
    }
  }
  static std::string PodText(const std::string& uid, int memory) {
    return fmt::format(
        R"({{"metadata":{{"name":"train","namespace":"team","uid":"{}","resourceVersion":"1"}},)"
        R"("spec":{{"containers":[{{"name":"main","resources":{{"limits":)"
        R"({{"nvidia.com/gpu":"1","nvidia.com/gpumem":"{}"}}}}}}]}},"status":{{"phase":"Pending"}}}})",
        uid, memory);
  }
  static std::string FilterBody(const std::string& uid = "uid-1", int memory = 3000) {
    return R"({"Pod":)" + PodText(uid, memory) + R"(,"Nodes":null,"NodeNames":["a"]})";
  }
  static std::string BindBody() {
    return R"({"PodName":"train","PodNamespace":"team","PodUID":"uid-1","Node":"a"})";
  }

  os::Loop loop_;
  static constexpr char kNoItems[] = R"({"metadata":{"resourceVersion":"1"},"items":[]})";
  std::string quotas_ = kNoItems;
  bool lists_ = true;
  int lists_read_ = 0;  // of nodes and pods
  fake::Peer* lease_stream_ = nullptr;
  fake::Peer* pod_stream_ = nullptr;
  std::vector<std::string> events_;
  std::vector<std::string> patches_;
  std::string bind_answer_ = fake::Answer(201, R"({"kind":"Status","status":"Success"})");
  std::vector<std::string> bound_;
  fake::Server api_{
      loop_, [this](const fake::Asked& asked, fake::Peer& peer) {
        if (asked.method == "POST" && asked.target.ends_with("/events")) {
          events_.push_back(asked.body);
          return peer.Send(fake::Answer(201, "{}"));
        }
        if (asked.method == "PATCH") {
          patches_.push_back(asked.target + " " + asked.body);
          return peer.Send(fake::Answer(200, "{}"));
        }
        if (asked.method == "POST") {
          bound_.push_back(asked.target + " " + asked.body);
          return peer.Send(bind_answer_);
        }
        const bool of_leases = asked.target.find("/leases?") != std::string::npos;
        if (asked.target.find("watch=") != std::string::npos) {
          if (of_leases) lease_stream_ = &peer;
          if (asked.target.starts_with("/api/v1/pods")) pod_stream_ = &peer;
          return peer.Send(fake::ChunkedHead());
        }
        if (!lists_) return;
        if (of_leases) return peer.Send(fake::Answer(200, kNoItems));
        if (asked.target.starts_with("/api/v1/resourcequotas?")) {
          return peer.Send(fake::Answer(200, quotas_));
        }
        ++lists_read_;
        const bool nodes = asked.target.starts_with("/api/v1/nodes");
        peer.Send(fake::Answer(200, R"({"metadata":{"resourceVersion":"1"},"items":[)" +
                                        (nodes ? NodeText() : PodText("uid-1", 3000)) + "]}"));
      }};
  std::unique_ptr<Service> service_;

 private:
  static std::string NodeText() {
    const hami::RegisteredDevice gpu{.id = "GPU-a",
                                     .count = 10,
                                     .devmem = 8000,
                                     .devcore = 100,
                                     .type = "NVIDIA A100",
                                     .health = true};
    const json::Object annotations{
        {std::string(hami::kNvidia.node_register), hami::EncodeRegister(std::vector{gpu})}};
    return json::Write(json::Object{
        {"metadata", json::Object{{"name", "a"},
                                  {"uid", "node-a"},
                                  {"labels", json::Object{{"gpu", "on"}, {"zone", "x"}}},
                                  {"annotations", annotations}}}});
  }
};

TEST_F(ServiceTest, APodIsFilteredAndBoundWithWhatItGets) {
  Start();
  AwaitReady();
  EXPECT_EQ(Post("/filter", FilterBody()), R"({"Nodes":null,"NodeNames":["a"],"FailedNodes":{},)"
                                           R"("FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(Post("/bind", BindBody()), R"({"Error":""})");
  ASSERT_EQ(bound_.size(), 1U);
  EXPECT_TRUE(bound_[0].starts_with("/api/v1/namespaces/team/pods/train/binding ")) << bound_[0];
  EXPECT_NE(bound_[0].find(R"("hami.io/vgpu-devices-allocated":"GPU-a,NVIDIA,3000,0:;")"),
            std::string::npos)
      << bound_[0];
}

TEST_F(ServiceTest, NodesAreScoredAndVictimsLookedAt) {
  Start();
  AwaitReady();
  (void)Post("/filter", FilterBody());
  EXPECT_EQ(Post("/prioritize", FilterBody()), R"([{"Host":"a","Score":0}])");
  std::string victims = FilterBody();
  victims.replace(victims.find(R"("Nodes")"), std::string::npos,
                  R"("NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}})");
  EXPECT_EQ(Post("/preempt", victims),
            R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}})");
}

TEST_F(ServiceTest, UntilTheClusterIsReadCallsAreToComeAgain) {
  lists_ = false;
  Start();
  const std::string why = "the nodes, pods and quotas of the cluster are still being read";
  EXPECT_EQ(Call(service_->status_port(), {"GET", "/readyz", {}, ""}),
            "the server answered with status 503");
  EXPECT_EQ(Call(service_->status_port(), {"GET", "/healthz", {}, ""}), "ok\n");
  EXPECT_EQ(Post("/filter", FilterBody()),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
            R"("Error":")" +
                why + R"("})");
  EXPECT_EQ(Post("/bind", BindBody()), R"({"Error":")" + why + R"("})");
}

TEST_F(ServiceTest, ABindOfAPodThatMayBeBoundAlreadyKeepsTheRoom) {
  bind_answer_ = fake::Answer(
      409, R"({"kind":"Status","status":"Failure","code":409,"message":"it is bound already"})");
  Start();
  AwaitReady();
  (void)Post("/filter", FilterBody());
  EXPECT_NE(Post("/bind", BindBody()).find("it is bound already"), std::string::npos);
  EXPECT_EQ(Post("/filter", FilterBody("uid-2", 8000)),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":)"
            R"({"a":"devices have too little memory left"},)"
            R"("FailedAndUnresolvableNodes":{},"Error":""})");
}

TEST_F(ServiceTest, ABindThatTheApiServerRefusesFreesTheRoom) {
  bind_answer_ = fake::Answer(
      403, R"({"kind":"Status","status":"Failure","code":403,"message":"it is not allowed"})");
  Start();
  AwaitReady();
  (void)Post("/filter", FilterBody());
  EXPECT_NE(Post("/bind", BindBody()).find("it is not allowed"), std::string::npos);
  EXPECT_NE(Post("/filter", FilterBody("uid-2", 8000)).find(R"("NodeNames":["a"])"),
            std::string::npos);
}

TEST_F(ServiceTest, AReasonWhyNoNodeHasRoomIsAnEventOfThePodOnce) {
  Start();
  AwaitReady();
  for (int i = 0; i < 2; ++i) (void)Post("/filter", FilterBody("uid-2", 9000));
  (void)Post("/filter", FilterBody("uid-3", 9000));

  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return events_.size() >= 2; }));
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_NE(events_[0].find(R"("uid":"uid-2")"), std::string::npos) << events_[0];
  const std::string told =
      R"("type":"Warning","reason":"FilteringFailed","message":"none of 1 nodes fits: )"
      R"x(devices have less in all than a container asks for (1)")x";
  EXPECT_NE(events_[0].find(told), std::string::npos) << events_[0];
  EXPECT_NE(events_[1].find(R"("uid":"uid-3")"), std::string::npos) << events_[1];
}

TEST_F(ServiceTest, ARefusedPodIsWokenOnceItFitsAndNobodyHasTriedIt) {
  Start();
  AwaitReady();
  (void)Post("/filter", FilterBody());
  (void)Post("/filter", FilterBody("uid-2", 8000));
  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return pod_stream_ != nullptr; }));

  pod_stream_->Send(fake::Chunk(R"({"type":"DELETED","object":)" + PodText("uid-1", 3000) + "}\n"));

  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return !patches_.empty(); }));
  EXPECT_TRUE(patches_[0].starts_with(R"(/api/v1/namespaces/team/pods/train {"metadata":)"
                                      R"({"uid":"uid-2","annotations":{"tessera.dev/woken":"2)"))
      << patches_[0];
}

TEST_F(ServiceTest, SaysOnItsPageWhyAPodWaits) {
  Start();
  AwaitReady();
  EXPECT_EQ(Call(service_->status_port(), {"GET", "/explain", {{"pod", "team/train"}}, ""}),
            R"({"pod":"team/train","state":"a node fits, and the pod waits for its next try",)"
            R"("fit":["a"],"refused":[],"blockers":{}})"
            "\n");
  EXPECT_EQ(Call(service_->status_port(), {"GET", "/explain", {}, ""}),
            "name the pod: /explain?pod=NAMESPACE/NAME");
}

TEST_F(ServiceTest, DevicesOfNodesWithTheLabelsCount) {
  Start({}, {"gpu=on"});
  AwaitReady();
  EXPECT_NE(Post("/filter", FilterBody()).find(R"("NodeNames":["a"])"), std::string::npos);
}

TEST_F(ServiceTest, DevicesOfNodesWithoutOneOfTheLabelsDoNotCount) {
  Start({}, {"gpu=on", "pool=shared"});
  AwaitReady();
  EXPECT_NE(Post("/filter", FilterBody()).find("the node has registered no devices"),
            std::string::npos);
}

TEST_F(ServiceTest, AQuotaOfThePodsNamespaceIsReadAndHolds) {
  quotas_ = R"({"metadata":{"resourceVersion":"1"},"items":[)"
            R"({"metadata":{"name":"gpus","namespace":"team","uid":"q","resourceVersion":"1"},)"
            R"("spec":{"hard":{"limits.nvidia.com/gpumem":"2999"}}}]})";
  Start();
  AwaitReady();
  EXPECT_EQ(Post("/filter", FilterBody()),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{"a":)"
            R"("the pod's namespace has too little limits.nvidia.com/gpumem left in its )"
            R"(ResourceQuota gpus"},"Error":""})");
}

TEST_F(ServiceTest, CallsAndDevicesAreCountedForPrometheus) {
  Start();
  AwaitReady();
  Post("/filter", FilterBody());
  Post("/filter", FilterBody("uid-2", 9000));
  Post("/bind", BindBody());

  const std::string page = Call(service_->status_port(), {"GET", "/metrics", {}, ""});

  for (const char* line : {
           R"(tessera_scheduler_filter_duration_seconds_count{result="placed"} 1)",
           R"(tessera_scheduler_filter_duration_seconds_count{result="refused"} 1)",
           R"(tessera_scheduler_binds_total{code="ok"} 1)",
           "tessera_scheduler_leads 1",
           "tessera_scheduler_holds 1",
           "tessera_scheduler_refused_pods 1",
           R"(hami_gpu_shared_count{node="a",device_uuid="GPU-a",device_index="0",)"
           R"(device_type="NVIDIA A100",zone="vGPU"} 1)",
       }) {
    EXPECT_NE(page.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << page;
  }
}

TEST_F(ServiceTest, OnlyTheLeaderTellsWhatDevicesHave) {
  Start({"kube-system", "hami-scheduler", "pod-a"});
  AwaitReady();
  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return lease_stream_ != nullptr; }));
  const auto lead = [&](const std::string& who, const std::string& version) {
    lease_stream_->Send(
        fake::Chunk(R"({"type":"MODIFIED","object":{"metadata":{"name":"hami-scheduler",)"
                    R"("resourceVersion":")" +
                    version + R"("},"spec":{"holderIdentity":")" + who +
                    R"(","leaseDurationSeconds":15}}})" + "\n"));
  };
  // Until the replica has seen the Lease.
  const auto page_with = [&](const std::string& line) {
    for (std::string page;;) {
      page = Call(service_->status_port(), {"GET", "/metrics", {}, ""});
      if (page.find(line + "\n") != std::string::npos) return page;
    }
  };
  const std::string of_device =
      R"(hami_gpu_shared_count{node="a",device_uuid="GPU-a",device_index="0",)"
      R"(device_type="NVIDIA A100",zone="vGPU"} 0)"
      "\n";

  EXPECT_EQ(page_with("tessera_scheduler_leads 0").find("hami_"), std::string::npos);
  lead("pod-a_1", "2");
  EXPECT_NE(page_with("tessera_scheduler_leads 1").find(of_device), std::string::npos);
  lead("pod-b_1", "3");
  const std::string page = page_with("tessera_scheduler_leads 0");
  EXPECT_EQ(page.find("hami_"), std::string::npos);
  EXPECT_NE(page.find("tessera_scheduler_holds 0\n"), std::string::npos);
}

TEST_F(ServiceTest, WhoTakesOverPlacesPodsOnceAllIsReadAnew) {
  Start({"kube-system", "hami-scheduler", "pod-a"});
  AwaitReady();
  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return lease_stream_ != nullptr; }));
  const std::string why =
      "the kube-scheduler of this pod does not lead: the Lease kube-system/hami-scheduler is "
      "held by no replica";
  EXPECT_EQ(Post("/filter", FilterBody()),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
            R"("Error":")" +
                why + R"("})");
  EXPECT_EQ(Post("/bind", BindBody()), R"({"Error":")" + why + R"("})");
  ASSERT_EQ(lists_read_, 2);

  lease_stream_->Send(fake::Chunk(
      R"({"type":"ADDED","object":{"metadata":{"name":"hami-scheduler","resourceVersion":"2"},)"
      R"("spec":{"holderIdentity":"pod-a_1","leaseDurationSeconds":15}}})"
      "\n"));

  ASSERT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return lists_read_ == 4; }));
  while (Post("/filter", FilterBody()).find(R"("NodeNames":["a"])") == std::string::npos) {
  }
}

TEST_F(ServiceTest, AThousandSlowClientsHoldUpNoCall) {
  Start();
  AwaitReady();
  http::SlowClients slow(service_->extender_port(), 1'000, "POST /fil");

  EXPECT_NE(Post("/filter", FilterBody()).find(R"("NodeNames":["a"])"), std::string::npos);
  slow.Drip();
  EXPECT_EQ(Post("/bind", BindBody()), R"({"Error":""})");
}

TEST_F(ServiceTest, WhoAskedBeforeSlowClientsCameAsksOn) {
  Start();
  AwaitReady();
  http::Remote kept(loop_, {.host = "127.0.0.1", .port = service_->extender_port(), .tls = false});
  const auto filter = [&] {
    std::string answer;
    const auto exchange = kept.Ask({.method = "POST", .target = "/filter", .body = FilterBody()},
                                   kPatience, [&](const Result<http::Reply>& reply) {
                                     answer = reply ? reply->body : reply.error().message;
                                   });
    EXPECT_TRUE(fake::RunUntil(loop_, kPatience, [&] { return !answer.empty(); }));
    return answer;
  };
  const std::string placed = filter();
  http::SlowClients slow(service_->extender_port(), 1'000, "POST /fil");

  EXPECT_EQ(filter(), placed);
  slow.Drip();
  EXPECT_EQ(filter(), placed);
}

TEST_F(ServiceTest, ACallOfOver16MiBIsRefusedAndTheNextOneAnswered) {
  Start();
  AwaitReady();

  EXPECT_EQ(Post("/filter", std::string((size_t{16} << 20) + 1, ' ')), "the body is over 16 MiB");
  EXPECT_NE(Post("/filter", FilterBody()).find(R"("NodeNames":["a"])"), std::string::npos);
}

TEST_F(ServiceTest, APodOf16MiBIsPlacedByWhatItAsksFor) {
  Start();
  AwaitReady();
  std::string body = FilterBody();
  const std::string name = R"("name":"train")";
  const size_t room = (size_t{16} << 20) - body.size() - 40;
  body.insert(body.find(name),
              R"("annotations":{"hami.io/note":")" + std::string(room, 'x') + R"("},)");
  ASSERT_LE(body.size(), size_t{16} << 20);

  EXPECT_NE(Post("/filter", body).find(R"("NodeNames":["a"])"), std::string::npos);
}

TEST_F(ServiceTest, WhatIsNoCallIsRefused) {
  Start();
  EXPECT_EQ(Post("/filter", "[]"), "a call of filter is not an object");
  EXPECT_EQ(Post("/bind", "{}"), "PodNamespace is missing");
  EXPECT_EQ(Post("/other", "{}"), "there is no /other");
  EXPECT_EQ(Call(service_->extender_port(), {"GET", "/filter", {}, ""}), "there is no /filter");
}

}  // namespace
}  // namespace tessera::scheduler
