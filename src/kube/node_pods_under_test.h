// SPDX-License-Identifier: Apache-2.0
// A node's pods from an API server that a test controls. One thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "kube/fake_cluster_test.h"
#include "kube/node_pods.h"

namespace tessera::kube {

using Words = std::vector<std::string>;

// A pod in the cluster.
struct Made {
  std::string name{};
  std::string uid{};
  std::string version{};
  std::string mirrors{};
  std::string mode{};
  bool broken = false;  // it has no containers
  int sidecars = 0;
};

inline json::Value PodObject(const Made& pod) {
  json::Object metadata{
      {"namespace", "d"}, {"name", pod.name}, {"uid", pod.uid}, {"resourceVersion", pod.version}};
  json::Object annotations;
  if (!pod.mirrors.empty()) annotations["kubernetes.io/config.mirror"] = pod.mirrors;
  if (!pod.mode.empty()) annotations["nvidia.com/vgpu-mode"] = pod.mode;
  metadata["annotations"] = std::move(annotations);
  json::Array containers;
  if (!pod.broken) containers.push_back(json::Object{{"name", "main"}});
  for (int i = 0; i < pod.sidecars; ++i) {
    containers.push_back(json::Object{{"name", fmt::format("sidecar-{}", i)}});
  }
  return json::Object{{"metadata", std::move(metadata)},
                      {"spec", json::Object{{"containers", std::move(containers)}}}};
}

inline std::string PageOf(const std::string& version, const std::vector<Made>& pods,
                          const std::string& next = "") {
  json::Array items;
  for (const Made& pod : pods) items.push_back(PodObject(pod));
  json::Object metadata{{"resourceVersion", version}};
  if (!next.empty()) metadata["continue"] = next;
  return fake::Answer(200, json::Write(json::Object{{"metadata", std::move(metadata)},
                                                    {"items", std::move(items)}}));
}

inline std::string PodEvent(const std::string& type, const Made& pod) {
  return fake::Chunk(json::Write(json::Object{{"type", type}, {"object", PodObject(pod)}}) + "\n");
}

class NodePodsTest : public ClusterTest {
 protected:
  NodePodsTest() {
    log::SetSink([this](std::string_view line) { logged_.emplace_back(line); });
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.target.find("watch=1") != std::string::npos) {
        stream_ = &peer;
        ++streams_;
        return peer.Send(fake::ChunkedHead());
      }
      const std::string& answer = lists_[std::min(listed_++, lists_.size() - 1)];
      peer.Send(answer);
    };
  }
  ~NodePodsTest() override { log::SetSink(nullptr); }

  void Start() {
    const auto tell = [this](const char* what) {
      return [this, what](const PodPtr& pod) {
        std::string text = fmt::format("{} {} {}", what, pod->name, pod->KubeletUid());
        for (const auto& [key, value] : pod->annotations) text += " " + value;
        told_.push_back(text);
      };
    };
    pods_ = std::make_unique<NodePods>(
        loop_, client(), "n/1", PodFields{.keys = {"nvidia.com/"}},
        NodePods::Observer{
            .added = tell("added"),
            .changed = tell("changed"),
            .removed = tell("removed"),
            .ended = tells_ends_ ? tell("ended") : decltype(NodePods::Observer::ended)()},
        times_);
  }
  bool RunUntilStreams(int count) {
    return RunUntil([&] { return streams_ >= count; });
  }
  bool RunUntilTold(size_t count) {
    return RunUntil([&] { return told_.size() >= count; });
  }
  // True once the pods are listed and watched.
  bool Begin() {
    Start();
    return RunUntilStreams(1) && RunUntil([&] { return pods_->Synced(); });
  }
  void Ask(const std::string& uid, Duration patience) {
    AskUntil(uid, SystemClock().Now() + patience);
  }
  void AskUntil(const std::string& uid, Steady deadline) {
    pods_->Await(uid, deadline, [this, uid](const Result<PodPtr>& pod) {
      answers_.push_back(uid + ": " + (pod ? (*pod)->name : pod.error().message));
      reason_ = pod ? Reason::kInternal : pod.error().reason;
    });
  }
  bool RunUntilAnswers(size_t count) {
    return RunUntil([&] { return answers_.size() >= count; });
  }

  std::vector<std::string> lists_ = {PageOf("10", {{"a", "u1", "1"}, {"b", "u2", "2"}})};
  size_t listed_ = 0;
  fake::Peer* stream_ = nullptr;
  int streams_ = 0;
  Words told_;
  Words logged_;
  Words answers_;
  Reason reason_ = Reason::kInternal;  // of the last failed answer
  bool tells_ends_ = false;
  NodePods::Times times_{.list = Duration(2'000), .between = Duration(0)};
  std::unique_ptr<NodePods> pods_;
};

}  // namespace tessera::kube
