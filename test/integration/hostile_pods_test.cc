// SPDX-License-Identifier: Apache-2.0
// Pods of a user who may only create pods, on a node with other users' pods. Their contents cost
// the agent a bounded amount.
#include <fmt/core.h>

#include <thread>

#include "agent_fixture.h"
#include "api/server.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"
#include "requested_vgpus.h"

namespace tessera {
namespace {

std::string Times(int count, const std::string& text) {
  std::string all;
  all.reserve(text.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// `more` is put into the pod's only container, `annotations` into its metadata.
std::string PodText(const std::string& name, const std::string& more,
                    const std::string& annotations, const std::string& containers = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"team","uid":"uid-{0}","resourceVersion":"1",)"
      R"("annotations":{{{2}}}}},"spec":{{"nodeName":"worker-1","containers":[)"
      R"({{"name":"main",{1}"resources":{{"limits":{{"nvidia.com/gpu":"1",)"
      R"("nvidia.com/gpumem":"3000"}}}}}}{3}]}},"status":{{"phase":"Pending"}}}})",
      name, more, annotations, containers);
}

// An API server that lists the pods in pages, each in one chunk.
class HostileServer {
 public:
  explicit HostileServer(std::vector<std::string> pods)
      : pods_(std::move(pods)), thread_([this] { loop_.Run(); }) {}
  ~HostileServer() {
    loop_.Stop();
    thread_.join();
  }
  int port() const { return server_.port(); }

 private:
  void Answer(const fake::Asked& asked, fake::Peer& peer) {
    const std::string& target = asked.target;
    if (target.starts_with("/api/v1/nodes/")) {
      return peer.Send(fake::Answer(200, R"({"metadata":{"name":"worker-1"},"status":{}})"));
    }
    if (!target.starts_with("/api/v1/pods?")) return peer.Send(fake::Answer(404, "{}"));
    if (target.find("watch=") != std::string::npos) return peer.Send(fake::ChunkedHead());
    const size_t from = NumberIn(target, "continue=");
    const size_t end = std::min(from + NumberIn(target, "limit="), pods_.size());
    std::string items;
    for (size_t i = from; i < end; ++i) items += (i == from ? "" : ",") + pods_[i];
    const std::string next = end == pods_.size() ? "" : std::to_string(end);
    peer.Send(fake::ChunkedHead());
    peer.Send(fake::Chunk(fmt::format(
        R"({{"kind":"PodList","metadata":{{"resourceVersion":"1","continue":"{}"}},"items":[{}]}})",
        next, items)));
    peer.Send(fake::kLastChunk);
  }
  static size_t NumberIn(const std::string& target, const std::string& key) {
    const size_t at = target.find(key);
    return at == std::string::npos ? 0 : std::stoul(target.substr(at + key.size()));
  }

  os::Loop loop_;
  const std::vector<std::string> pods_;
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Answer(asked, peer); }};
  std::thread thread_;
};

class HostilePodsTest : public AgentTest {
 protected:
  HostilePodsTest() {
    EXPECT_TRUE(os::MakeDirectories(node_.directory() + "/usr/local/vgpu", 0755));
    EXPECT_TRUE(os::ReplaceFile(node_.directory() + "/usr/local/vgpu/libvgpu.so", "a library"));
  }
  std::string ChosenFor() const {
    return fmt::format(R"("hami.io/vgpu-node":"worker-1",)"
                       R"("hami.io/vgpu-devices-allocated":"{},NVIDIA,3000,0:;")",
                       node_.hardware().gpus.at(0).uuid);
  }
  kubelet::Admission RunPod(const std::string& name) {
    return kubelet_->RunPod({.pod_namespace = "team",
                             .name = name,
                             .uid = "uid-" + name,
                             .containers = {{.name = "main", .limits = {{kGpu, 1}}}}});
  }

  NvidiaNode node_{dir_ + "/node", "8xa100"};
};

TEST_F(HostilePodsTest, WhatTheySayCostsABoundAmountAndNobodyElseHisContainer) {
  std::vector<std::string> pods;
  for (int i = 0; i < 6; ++i) {
    pods.push_back(PodText(
        fmt::format("sources-{}", i),
        R"("envFrom":[{})" + Times(80'000, R"(,{"configMapRef":{"name":"a"}})") + "],", ""));
  }
  std::string containers;
  for (int i = 0; i < 4400; ++i) {
    containers +=
        fmt::format(R"(,{{"name":"c{}","image":"{}","resources":{{}}}})", i, std::string(600, 'x'));
  }
  for (int i = 0; i < 5; ++i) {
    pods.push_back(PodText(fmt::format("many-{}", i), "", ChosenFor(), containers));
  }
  for (int i = 0; i < 300; ++i) {
    pods.push_back(
        PodText(fmt::format("noted-{}", i), "",
                ChosenFor() + R"(,"tessera.dev/gpu-note":")" + std::string(250'000, 'x') + '"'));
  }
  for (int i = 0; i < 60; ++i) {
    pods.push_back(
        PodText(fmt::format("long-{}", i),
                R"("env":[{"name":"A","value":")" + std::string(1'400'000, 'x') + "\"}],", ""));
  }
  pods.push_back(PodText("good", "", ChosenFor()));
  const HostileServer api(std::move(pods));
  StartAll(kTenRequested, OfWorker(node_.directory(), dir_, api.port()));
  Expect(kGpu, 80, 80);
  // A container that starts before all pods are listed waits and may fail. Kubelet would try it
  // again.
  kubelet::Admission good;
  ASSERT_TRUE(Await([&] {
    good = RunPod("good");
    const bool started = good.admitted && good.start_failures.empty();
    if (!started) (void)kubelet_->EndPod("team", "good");
    return started;
  }));

  const kubelet::Admission many = RunPod("many-0");
  const kubelet::Admission noted = RunPod("noted-0");

  ASSERT_EQ(many.start_failures.size(), 1U);
  EXPECT_NE(many.start_failures[0].second.find("pod team/many-0: its placement does not match its "
                                               "request: its fields that are read have more than "
                                               "98304 bytes"),
            std::string::npos)
      << many.start_failures[0].second;
  ASSERT_EQ(noted.start_failures.size(), 1U);
  EXPECT_NE(noted.start_failures[0].second.find("annotations: tessera.dev/gpu-note has 250000 "
                                                "bytes, at most 32768 are read"),
            std::string::npos)
      << noted.start_failures[0].second;
  EXPECT_LT(Memory("VmHWM"), 60 * 1024);
}

}  // namespace
}  // namespace tessera
