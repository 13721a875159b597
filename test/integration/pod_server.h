// SPDX-License-Identifier: Apache-2.0
// For tests: an API server with one node and its pods.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "api/server.h"
#include "json/json.h"
#include "os/loop.h"

namespace tessera {

// An API server for one node and its pods, with a loop and a thread of its own.
class PodServer {
 public:
  PodServer() : thread_([this] { loop_.Run(); }) {}
  ~PodServer() {
    loop_.Stop();
    thread_.join();
  }
  int port() const { return server_.port(); }
  // Clear and Add count from the next list on.
  void Clear() {
    std::lock_guard lock(mutex_);
    pods_.clear();
  }
  void Add(json::Object pod) {
    std::lock_guard lock(mutex_);
    pods_.push_back(std::move(pod));
  }
  // The node's annotation of this name, as the agent last wrote it.
  std::string NodeAnnotation(std::string_view key) {
    std::lock_guard lock(mutex_);
    const auto* found = annotations_.if_contains(key);
    return found == nullptr ? "" : std::string(found->get_string());
  }

 private:
  void Answer(const fake::Asked& asked, fake::Peer& peer) {
    std::lock_guard lock(mutex_);
    if (asked.target.starts_with("/api/v1/nodes/")) {
      if (asked.method == "PATCH") Merge(asked.body);
      return peer.Send(fake::Answer(
          200, json::Write(json::Object{
                   {"metadata", json::Object{{"name", "worker-1"}, {"annotations", annotations_}}},
                   {"status", json::Object{}}})));
    }
    if (!asked.target.starts_with("/api/v1/pods")) return peer.Send(fake::Answer(404, "{}"));
    if (asked.target.find("watch=") != std::string::npos) return peer.Send(fake::ChunkedHead());
    peer.Send(fake::Answer(
        200, json::Write(json::Object{{"kind", "PodList"},
                                      {"metadata", json::Object{{"resourceVersion", "1"}}},
                                      {"items", pods_}})));
  }
  void Merge(const std::string& body) {
    const json::Value patch = json::Parse(body).value();
    const json::Object* metadata = json::GetObject(patch.get_object(), "metadata");
    const json::Object* changes =
        metadata == nullptr ? nullptr : json::GetObject(*metadata, "annotations");
    if (changes == nullptr) return;
    for (const auto& change : *changes) annotations_[change.key()] = change.value();
  }

  os::Loop loop_;
  std::mutex mutex_;
  json::Array pods_;          // under mutex_, also the next
  json::Object annotations_;  // of the node
  fake::Server server_{loop_,
                       [this](const fake::Asked& asked, fake::Peer& peer) { Answer(asked, peer); }};
  std::thread thread_;
};

}  // namespace tessera
