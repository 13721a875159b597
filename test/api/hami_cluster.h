// SPDX-License-Identifier: Apache-2.0
// A fake API server with one node and some pods, for tests of HAMi's annotations. It stores their
// annotations as the real server does: each patch makes a new resourceVersion. A patch that names
// another version is a conflict (409). One thread: the loop's. Header-only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kube/fake_cluster_test.h"
#include "kube/objects/pod.h"

namespace tessera {

class HamiClusterTest : public kube::ClusterTest {
 protected:
  static constexpr char kLock[] = "hami.io/mutex.lock";
  static constexpr char kNode[] = "/api/v1/nodes/n1";
  using Annotations = std::map<std::string, std::string>;

  struct Object {
    std::string uid{};
    int version = 1;
    Annotations annotations{};
    std::string node{};  // the node that a pod is bound to; empty: none
    std::string phase = "Pending";
    std::map<std::string, int> asks{{"nvidia.com/gpu", 1}};  // a pod's limits
  };

  HamiClusterTest() {
    objects_[kNode].uid = "n1";
    handler_ = [this](const fake::Asked& asked, fake::Peer& peer) {
      if (!failures_.empty()) {
        const std::string failure = failures_.front();
        failures_.erase(failures_.begin());
        return peer.Send(failure);
      }
      peer.Send(Answer(asked));
    };
  }

  static std::string PathOf(const std::string& pod) {
    return "/api/v1/namespaces/default/pods/" + pod;
  }
  Object& Pod(const std::string& name) { return objects_[PathOf(name)]; }
  // A pod that HAMi's scheduler has bound to this node. `allocated` is its device annotation.
  Object& Placed(const std::string& name, const std::string& allocated) {
    Object& pod = Pod(name);
    pod.uid = "uid-" + name;
    pod.node = "n1";
    pod.annotations = {{"hami.io/vgpu-node", "n1"},
                       {"hami.io/bind-phase", "allocating"},
                       {"hami.io/vgpu-devices-allocated", allocated},
                       {"hami.io/vgpu-devices-to-allocate", allocated}};
    return pod;
  }
  void Lock(const std::string& pod) {
    objects_[kNode].annotations[kLock] = "2026-08-21T09:30:00Z,default," + pod;
    ++objects_[kNode].version;
  }
  bool Locked() const { return objects_.at(kNode).annotations.contains(kLock); }

  // The pod as a watch reports it.
  kube::Pod Seen(const std::string& name) {
    return kube::ReadPod(JsonOf(PathOf(name)),
                         {.keys = {"hami.io/"}, .resource = [](std::string_view) { return true; }})
        .value();
  }
  json::Value NodeJson() { return JsonOf(kNode); }
  std::string LastTarget() const { return asked_.empty() ? "" : Targets().back(); }
  // The accepted patches: "NAME BODY".
  const std::vector<std::string>& patches() const { return patches_; }

  std::map<std::string, Object> objects_;  // by path
  std::vector<std::string> failures_;      // raw answers to the next requests, in order
  std::vector<std::string> patches_;
  std::function<void()> before_patch_ = [] {};  // runs before the next patch is answered
  std::function<void()> each_patch_ = [] {};    // runs before each patch after that

 private:
  json::Value JsonOf(const std::string& path) {
    const Object& object = objects_.at(path);
    json::Object annotations;
    for (const auto& [key, value] : object.annotations) annotations[key] = value;
    json::Object limits;
    for (const auto& [resource, count] : object.asks) limits[resource] = std::to_string(count);
    const json::Object container{{"name", "main"},
                                 {"resources", json::Object{{"limits", std::move(limits)}}}};
    json::Object spec{{"containers", json::Array{container}}};
    if (!object.node.empty()) spec["nodeName"] = object.node;
    return json::Object{
        {"metadata", json::Object{{"name", path.substr(path.rfind('/') + 1)},
                                  {"namespace", "default"},
                                  {"uid", object.uid},
                                  {"resourceVersion", std::to_string(object.version)},
                                  {"annotations", std::move(annotations)}}},
        {"spec", std::move(spec)},
        {"status", json::Object{{"phase", object.phase}}}};
  }
  std::string Answer(const fake::Asked& asked) {
    if (asked.method == "PATCH") std::exchange(before_patch_, each_patch_)();
    const auto found = objects_.find(asked.target);
    if (found == objects_.end()) return kube::Refusal(404, "NotFound", "not found");
    if (asked.method == "PATCH" && !Take(asked, found->second)) {
      return kube::Refusal(409, "Conflict", "the object has been modified");
    }
    return fake::Answer(200, json::Write(JsonOf(asked.target)));
  }
  bool Take(const fake::Asked& asked, Object& object) {
    const json::Value patch = json::Parse(asked.body).value();
    const json::Object& metadata = *json::GetObject(patch.as_object(), "metadata");
    const std::string version = json::GetString(metadata, "resourceVersion").value_or("");
    if (!version.empty() && version != std::to_string(object.version)) return false;
    if (json::GetString(metadata, "uid").value_or(object.uid) != object.uid) return false;
    ++object.version;
    patches_.push_back(asked.target.substr(asked.target.rfind('/') + 1) + " " + asked.body);
    for (const auto& item : *json::GetObject(metadata, "annotations")) {
      object.annotations.erase(std::string(item.key()));
      if (item.value().is_string()) object.annotations[item.key()] = item.value().get_string();
    }
    return true;
  }
};

}  // namespace tessera
