// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/pods.h"

#include <algorithm>
#include <array>
#include <optional>

#include "json/json.h"

namespace tessera::kubelet::embedded {
namespace {

using Kind = ContainerSpec::Kind;
constexpr std::array<std::pair<Kind, std::string_view>, 3> kKinds = {
    {{Kind::kApp, "app"}, {Kind::kInit, "init"}, {Kind::kSidecar, "sidecar"}}};

std::string KindName(Kind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return std::string(name);
  }
  return "app";
}

std::optional<Kind> KindFromName(std::string_view text) {
  for (const auto& [known, name] : kKinds) {
    if (name == text) return known;
  }
  return {};
}

json::Object WriteContainer(const ContainerSpec& container, bool started) {
  json::Object limits;
  for (const auto& [resource, count] : container.limits) limits[resource] = count;
  return {{"name", container.name},
          {"kind", KindName(container.kind)},
          {"limits", limits},
          {"started", started}};
}

Result<ContainerSpec> ParseContainer(const json::Object& object) {
  auto name = json::GetString(object, "name");
  auto kind = KindFromName(json::GetString(object, "kind").value_or(""));
  const json::Object* limits = json::GetObject(object, "limits");
  if (!name || !kind || limits == nullptr)
    return Fail(Reason::kInvalid, "a container is malformed");
  ContainerSpec container{*name, *kind, {}};
  for (const auto& limit : *limits) {
    if (!limit.value().is_int64()) return Fail(Reason::kInvalid, "a limit is not a number");
    container.limits[std::string(limit.key())] = static_cast<int>(limit.value().get_int64());
  }
  return container;
}

Result<Pod> ParsePod(const json::Object& object) {
  auto pod_namespace = json::GetString(object, "namespace");
  auto name = json::GetString(object, "name");
  auto uid = json::GetString(object, "uid");
  const json::Array* containers = json::GetArray(object, "containers");
  if (!pod_namespace || !name || !uid || containers == nullptr) {
    return Fail(Reason::kInvalid, "a pod is malformed");
  }
  Pod pod{.spec = {*pod_namespace, *name, *uid, {}}, .started = {}};
  for (const json::Value& value : *containers) {
    if (!value.is_object()) return Fail(Reason::kInvalid, "a container is not an object");
    ContainerSpec container = TRY(ParseContainer(value.get_object()));
    if (json::GetBool(value.get_object(), "started").value_or(false)) {
      pod.started.insert(container.name);
    }
    pod.spec.containers.push_back(std::move(container));
  }
  return pod;
}

}  // namespace

const ContainerSpec* Pod::Find(const std::string& container) const {
  for (const ContainerSpec& known : spec.containers) {
    if (known.name == container) return &known;
  }
  return nullptr;
}

void Pods::Put(Pod pod) {
  PodName name{pod.spec.pod_namespace, pod.spec.name};
  pods_[name] = std::move(pod);
}

Pod* Pods::Find(const PodName& name) {
  auto found = pods_.find(name);
  return found == pods_.end() ? nullptr : &found->second;
}

const Pod* Pods::Find(const PodName& name) const {
  auto found = pods_.find(name);
  return found == pods_.end() ? nullptr : &found->second;
}

bool Pods::Remove(const PodName& name) {
  return pods_.erase(name) > 0;
}

Ids Pods::Uids() const {
  Ids uids;
  for (const auto& [name, pod] : pods_) uids.insert(pod.spec.uid);
  return uids;
}

std::string Pods::Write() const {
  json::Array pods;
  for (const auto& [name, pod] : pods_) {
    json::Array containers;
    for (const ContainerSpec& container : pod.spec.containers) {
      containers.push_back(WriteContainer(container, pod.started.contains(container.name)));
    }
    pods.push_back(json::Object{{"namespace", name.first},
                                {"name", name.second},
                                {"uid", pod.spec.uid},
                                {"containers", containers}});
  }
  return json::WritePretty(json::Object{{"pods", pods}});
}

Result<Pods> Pods::Parse(std::string_view text) {
  json::Value root = TRY_IN(json::Parse(text), "the list of pods");
  const json::Array* list = root.is_object() ? json::GetArray(root.get_object(), "pods") : nullptr;
  if (list == nullptr) return Fail(Reason::kInvalid, "the list of pods: no member \"pods\"");
  Pods pods;
  for (const json::Value& value : *list) {
    if (!value.is_object())
      return Fail(Reason::kInvalid, "the list of pods: a pod is not an object");
    pods.Put(TRY_IN(ParsePod(value.get_object()), "the list of pods"));
  }
  return pods;
}

std::map<std::string, int> RequestsOf(const PodSpec& pod) {
  std::map<std::string, int> sidecars;
  std::map<std::string, int> peak;  // while an init container runs, with the sidecars before it
  for (const ContainerSpec& container : pod.containers) {
    for (const auto& [resource, count] : container.limits) {
      if (container.kind == Kind::kSidecar) sidecars[resource] += count;
      if (container.kind == Kind::kInit) {
        peak[resource] = std::max(peak[resource], sidecars[resource] + count);
      }
    }
  }
  std::map<std::string, int> requests = std::move(sidecars);
  for (const ContainerSpec& container : pod.containers) {
    if (container.kind != Kind::kApp) continue;
    for (const auto& [resource, count] : container.limits) requests[resource] += count;
  }
  for (const auto& [resource, count] : peak) {
    requests[resource] = std::max(requests[resource], count);
  }
  return requests;
}

}  // namespace tessera::kubelet::embedded
