// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/pod.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "kube/objects/metadata.h"

namespace tessera::kube {
namespace {

constexpr char kMirrorAnnotation[] = "kubernetes.io/config.mirror";
constexpr size_t kMostOfPod = 96 << 10;

// The later of two variables with the same name counts.
Result<Texts> VariablesIn(const json::Object& container, const Which& which) {
  Texts variables;
  for (const json::Object* entry : TRY(ObjectsIn(container, "env"))) {
    const std::string name = TRY_IN(NeededTextIn(*entry, "name"), "env");
    if (!which || !which(name)) continue;
    if (Member(*entry, "valueFrom") != nullptr) {
      variables.erase(name);
    } else {
      variables[name] = TRY_IN(TextIn(*entry, "value"), "env: " + Brief(name));
    }
  }
  return variables;
}

Result<Container> ReadContainer(const json::Object& object, bool init, const PodFields& wanted,
                                std::string& excess) {
  Container container;
  container.name = TRY(NeededTextIn(object, "name"));
  const bool runs_on = init && TRY(TextIn(object, "restartPolicy")) == "Always";
  if (init) container.kind = runs_on ? Container::Kind::kSidecar : Container::Kind::kInit;
  const json::Object& resources = *TRY(ObjectIn(object, "resources"));
  container.limits = TRY_IN(TextsIn(resources, "limits", wanted.resource, excess), "resources");
  container.requests = TRY_IN(TextsIn(resources, "requests", wanted.resource, excess), "resources");
  container.variables = TRY(VariablesIn(object, wanted.variable));
  return container;
}

Status AddContainers(const json::Object& spec, std::string_view key, const PodFields& wanted,
                     Pod& pod) {
  const auto objects = TRY(ObjectsIn(spec, key));
  const bool init = key == "initContainers";
  for (size_t i = 0; i < objects.size(); ++i) {
    auto container = ReadContainer(*objects[i], init, wanted, pod.excess);
    if (!container && !pod.excess.empty()) return {};  // the list was cut there
    pod.containers.push_back(TRY_IN(std::move(container), fmt::format("{}[{}]", key, i)));
  }
  return {};
}

// Whether the container of `status` has succeeded.
bool EndedWell(const json::Object& status) {
  const json::Object* state = json::GetObject(status, "state");
  const json::Object* ended = state == nullptr ? nullptr : json::GetObject(*state, "terminated");
  return ended != nullptr && json::GetInt(*ended, "exitCode") == 0;
}

Status ReadStatus(const json::Object& status, Pod& pod) {
  const std::string phase = TRY(TextIn(status, "phase"));
  if (phase == "Pending") pod.phase = Pod::Phase::kPending;
  if (phase == "Running") pod.phase = Pod::Phase::kRunning;
  if (phase == "Succeeded") pod.phase = Pod::Phase::kSucceeded;
  if (phase == "Failed") pod.phase = Pod::Phase::kFailed;
  for (const json::Object* one : TRY(ObjectsIn(status, "initContainerStatuses"))) {
    const auto of = std::ranges::find_if(pod.containers, [&](const Container& container) {
      return container.kind == Container::Kind::kInit &&
             json::GetString(*one, "name") == container.name;
    });
    if (of != pod.containers.end()) of->succeeded = EndedWell(*one);
  }
  return {};
}

bool IsOfQuality(std::string_view resource) {
  return resource == "cpu" || resource == "memory";
}

// Whether a container of the list requests CPU or memory. Kubernetes calls a pod without either
// best effort.
Result<bool> HasQuality(const json::Object& spec, std::string_view key) {
  for (const json::Object* container : TRY(ObjectsIn(spec, key))) {
    const json::Object& resources = *TRY(ObjectIn(*container, "resources"));
    for (const char* list : {"limits", "requests"}) {
      for (const auto& amount : *TRY(ObjectIn(resources, list))) {
        if (IsOfQuality(amount.key())) return true;
      }
    }
  }
  return false;
}

Result<QuotaFacts> ReadQuotaFacts(const json::Object& spec) {
  const bool quality =
      TRY(HasQuality(spec, "containers")) || TRY(HasQuality(spec, "initContainers"));
  return QuotaFacts{.deadline = Member(spec, "activeDeadlineSeconds") != nullptr,
                    .best_effort = !quality,
                    .priority_class = TRY(TextIn(spec, "priorityClassName"))};
}

constexpr const char* kAffinities[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

Result<bool> PrefersNodes(const json::Object& spec) {
  const json::Object& affinity = *TRY(ObjectIn(spec, "affinity"));
  for (const char* kind : kAffinities) {
    const json::Object& terms = *TRY(ObjectIn(affinity, kind));
    if (!TRY(ObjectsIn(terms, kPreferred)).empty()) return true;
  }
  for (const json::Object* spread : TRY(ObjectsIn(spec, "topologySpreadConstraints"))) {
    if (TRY(TextIn(*spread, "whenUnsatisfiable")) == "ScheduleAnyway") return true;
  }
  return false;
}

json::Shape AffinityShape() {
  using json::Shape;
  std::vector<Shape::Member> kinds;
  for (const char* kind : kAffinities) {
    kinds.emplace_back(kind, Shape::Object({{kPreferred, Shape::List(Shape::Object({}))}}));
  }
  return Shape::Object(std::move(kinds));
}

Status ReadMetadata(const json::Object& metadata, const PodFields& wanted, Pod& pod) {
  pod.uid = TRY(NeededTextIn(metadata, "uid"));
  pod.pod_namespace = TRY(NeededTextIn(metadata, "namespace"));
  pod.name = TRY(NeededTextIn(metadata, "name"));
  pod.resource_version = TRY(NeededTextIn(metadata, "resourceVersion"));
  pod.deleting = Member(metadata, "deletionTimestamp") != nullptr;
  const auto which = [&](std::string_view key) {
    return std::ranges::any_of(wanted.keys,
                               [&](const auto& begin) { return key.starts_with(begin); });
  };
  pod.labels = TRY(TextsIn(metadata, "labels", which, pod.excess));
  pod.annotations = TRY(TextsIn(metadata, "annotations", which, pod.excess));
  const json::Object& annotations = *TRY(ObjectIn(metadata, "annotations"));
  pod.mirrored = TRY_IN(TextIn(annotations, kMirrorAnnotation), "annotations");
  return {};
}

Result<Pod> ReadPodParts(const json::Object& object, const PodFields& wanted) {
  Pod pod;
  const bool cut = object.contains(json::kCut);
  if (cut) pod.excess = fmt::format("its fields that are read have more than {} bytes", kMostOfPod);
  const json::Object& metadata = *TRY(ObjectIn(object, "metadata"));
  TRY_IN(ReadMetadata(metadata, wanted, pod), "metadata");
  const json::Object& spec = *TRY(ObjectIn(object, "spec"));
  pod.node = TRY_IN(TextIn(spec, "nodeName"), "spec");
  TRY_IN(AddContainers(spec, "initContainers", wanted, pod), "spec");
  const size_t init = pod.containers.size();
  TRY_IN(AddContainers(spec, "containers", wanted, pod), "spec");
  if (!cut && pod.containers.size() == init) {
    return Fail(Reason::kInvalid, "spec: it has no containers");
  }
  if (wanted.quota && !cut) pod.quota = TRY_IN(ReadQuotaFacts(spec), "spec");
  if (wanted.preferences && !cut) pod.prefers_nodes = TRY_IN(PrefersNodes(spec), "spec");
  const json::Object& status = *TRY(ObjectIn(object, "status"));
  TRY_IN(ReadStatus(status, pod), "status");
  if (!wanted.resource || cut || std::ranges::any_of(pod.containers, &Container::Asks)) return pod;
  pod.labels.clear();
  pod.annotations.clear();
  pod.containers.clear();
  pod.excess.clear();
  return pod;
}

// Keeps wanted variables only, since a pod may have any number.
json::Shape VariablesShape(const Which& which) {
  using json::Shape;
  return Shape::List(Shape::Object({{"name", Shape::Scalar()},
                                    {"value", Shape::Scalar()},
                                    {"valueFrom", Shape::Object({})}}),
                     [which](const json::Value& entry) {
                       const json::Object* object = entry.if_object();
                       const auto name =
                           object == nullptr ? std::nullopt : json::GetString(*object, "name");
                       return !name || (which && which(*name));
                     });
}

json::Shape ContainersShape(const PodFields& wanted) {
  using json::Shape;
  const auto resource = [which = wanted.resource, quota = wanted.quota](std::string_view name) {
    return (which && which(name)) || (quota && IsOfQuality(name));
  };
  const Shape amounts = Shape::Map(resource, Shape::Scalar());
  return Shape::List(
      Shape::Object({{"name", Shape::Scalar()},
                     {"restartPolicy", Shape::Scalar()},
                     {"resources", Shape::Object({{"limits", amounts}, {"requests", amounts}})},
                     {"env", VariablesShape(wanted.variable)}}));
}

json::Shape PodStatusShape() {
  using json::Shape;
  return Shape::Object(
      {{"phase", Shape::Scalar()},
       {"initContainerStatuses",
        Shape::List(Shape::Object(
            {{"name", Shape::Scalar()},
             {"state", Shape::Object(
                           {{"terminated", Shape::Object({{"exitCode", Shape::Scalar()}})}})}}))}});
}

}  // namespace

Form PodForm(const PodFields& wanted) {
  using json::Shape;
  const auto key = [keys = wanted.keys](std::string_view name) {
    return name == kMirrorAnnotation ||
           std::ranges::any_of(keys, [&](const auto& begin) { return name.starts_with(begin); });
  };
  const Shape texts = Shape::Map(key, Shape::Scalar(kLongestAnnotation));
  const Shape containers = ContainersShape(wanted);
  Shape spec = Shape::Object({{"nodeName", Shape::Scalar()},
                              {"activeDeadlineSeconds", Shape::Scalar()},
                              {"priorityClassName", Shape::Scalar()},
                              {"initContainers", containers},
                              {"containers", containers}});
  if (wanted.preferences) {
    const Shape spread = Shape::Object({{"whenUnsatisfiable", Shape::Scalar()}});
    spec = spec.With(
        {{"affinity", AffinityShape()}, {"topologySpreadConstraints", Shape::List(spread)}});
  }
  return {
      .shape = Shape::Object({{"metadata", Shape::Object({{"name", Shape::Scalar()},
                                                          {"namespace", Shape::Scalar()},
                                                          {"uid", Shape::Scalar()},
                                                          {"resourceVersion", Shape::Scalar()},
                                                          {"deletionTimestamp", Shape::Scalar()},
                                                          {"labels", texts},
                                                          {"annotations", texts}})},
                              {"spec", spec},
                              {"status", PodStatusShape()}}),
      .most = kMostOfPod};
}

Result<Pod> ReadPod(const json::Value& object, const PodFields& wanted) {
  if (!object.is_object()) return Fail(Reason::kInvalid, "a pod is not an object");
  const std::string name = ObjectKeyIn(object);
  return TRY_IN(ReadPodParts(object.get_object(), wanted),
                name.empty() ? "a pod without a name" : "pod " + Brief(name));
}

size_t CostOf(const Pod& pod) {
  constexpr size_t kContainer = 400;
  size_t bytes = CostOf(pod.labels) + CostOf(pod.annotations) + pod.quota.priority_class.size();
  for (const Container& container : pod.containers) {
    bytes += kContainer + container.name.size() + CostOf(container.limits) +
             CostOf(container.requests) + CostOf(container.variables);
  }
  return bytes;
}

std::string KubeletUidIn(const json::Value& object) {
  const json::Object* metadata = MetadataIn(object);
  if (metadata == nullptr) return "";
  const json::Object* annotations = json::GetObject(*metadata, "annotations");
  std::string mirrored;
  if (annotations != nullptr) {
    mirrored = json::GetString(*annotations, kMirrorAnnotation).value_or("");
  }
  return mirrored.empty() ? json::GetString(*metadata, "uid").value_or("") : mirrored;
}

}  // namespace tessera::kube
