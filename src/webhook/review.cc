// SPDX-License-Identifier: Apache-2.0
#include "webhook/review.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/quote.h"
#include "json/reader.h"
#include "kube/objects/members.h"

namespace tessera::webhook {
namespace {

using json::Shape;

// A pod of 1.5 MB, etcd's limit, needs less than this with all its variables.
constexpr size_t kMostKept = size_t{32} << 20;
constexpr int kForbidden = 403;

const auto kAll = [](std::string_view) { return true; };

Shape ContainersShape(const kube::PodFields& wanted) {
  const Shape amounts = Shape::Map(wanted.resource, Shape::Scalar());
  return Shape::List(
      Shape::Object({{"name", Shape::Scalar()},
                     {"restartPolicy", Shape::Scalar()},
                     {"resources", Shape::Object({{"limits", amounts}, {"requests", amounts}})},
                     {"securityContext", Shape::Object({{"privileged", Shape::Scalar()}})},
                     // All entries, since a patch names them by index.
                     {"env", Shape::List(Shape::Object({{"name", Shape::Scalar()},
                                                        {"value", Shape::Scalar(64)},
                                                        {"valueFrom", Shape::Object({})}}))}}));
}

Shape AffinityShape() {
  const Shape expression = Shape::Object({{"key", Shape::Scalar()}, {"operator", Shape::Scalar()}});
  const Shape term = Shape::Object({{"matchExpressions", Shape::List(expression)},
                                    {"matchFields", Shape::List(Shape::Object({}))}});
  const Shape required = Shape::Object({{"nodeSelectorTerms", Shape::List(term)}});
  return Shape::Object(
      {{"nodeAffinity",
        Shape::Object({{"requiredDuringSchedulingIgnoredDuringExecution", required}})}});
}

Shape PodShape(const kube::PodFields& wanted) {
  const auto key = [keys = wanted.keys](std::string_view name) {
    return std::ranges::any_of(keys, [&](const auto& begin) { return name.starts_with(begin); });
  };
  const Shape texts = Shape::Map(key, Shape::Scalar(kube::kLongestAnnotation));
  const Shape containers = ContainersShape(wanted);
  const Shape text = Shape::Scalar();
  return Shape::Object(
      {{"metadata",
        Shape::Object(
            {{"name", text}, {"generateName", text}, {"labels", texts}, {"annotations", texts}})},
       {"spec", Shape::Object({{"schedulerName", text},
                               {"nodeName", text},
                               {"runtimeClassName", text},
                               {"nodeSelector", Shape::Map(kAll, text)},
                               {"affinity", AffinityShape()},
                               {"initContainers", containers},
                               {"containers", containers}})}});
}

Shape ReviewShape(const kube::PodFields& wanted) {
  const Shape text = Shape::Scalar();
  return Shape::Object(
      {{"apiVersion", text},
       {"kind", text},
       {"request",
        Shape::Object(
            {{"uid", text},
             {"resource", Shape::Object({{"group", text}, {"resource", text}})},
             {"subResource", text},
             {"namespace", text},
             {"operation", text},
             {"userInfo", Shape::Object({{"username", text}, {"groups", Shape::List(text)}})},
             {"object", PodShape(wanted)}})}});
}

// A null member counts as absent, as everywhere in Kubernetes.
bool Has(const json::Object& object, std::string_view key) {
  return kube::Member(object, key) != nullptr;
}

Result<std::vector<Variable>> VariablesOf(const json::Object& container) {
  std::vector<Variable> variables;
  for (const json::Object* entry : TRY(kube::ObjectsIn(container, "env"))) {
    Variable variable{.name = TRY_IN(kube::NeededTextIn(*entry, "name"), "env")};
    const json::Value* value = kube::Member(*entry, "value");
    const bool longer = value != nullptr && !value->is_string();
    if (!longer && !Has(*entry, "valueFrom")) variable.value = TRY(kube::TextIn(*entry, "value"));
    variables.push_back(std::move(variable));
  }
  return variables;
}

Result<NewContainer> ReadContainer(const json::Object& object, bool init,
                                   const kube::PodFields& wanted) {
  NewContainer container;
  kube::Container& asked = container.asked;
  asked.name = TRY(kube::NeededTextIn(object, "name"));
  const bool runs_on = init && TRY(kube::TextIn(object, "restartPolicy")) == "Always";
  if (init) asked.kind = runs_on ? kube::Container::Kind::kSidecar : kube::Container::Kind::kInit;
  const json::Object& resources = *TRY(kube::ObjectIn(object, "resources"));
  std::string excess;
  asked.limits = TRY(kube::TextsIn(resources, "limits", wanted.resource, excess));
  asked.requests = TRY(kube::TextsIn(resources, "requests", wanted.resource, excess));
  if (!excess.empty()) return Fail(Reason::kInvalid, "resources: {}", excess);
  const json::Object& security = *TRY(kube::ObjectIn(object, "securityContext"));
  container.privileged = TRY(kube::FlagIn(security, "privileged"));
  container.variables = TRY(VariablesOf(object));
  return container;
}

Status AddContainers(const json::Object& spec, std::string_view key, const kube::PodFields& wanted,
                     NewPod& pod) {
  const auto objects = TRY(kube::ObjectsIn(spec, key));
  for (size_t i = 0; i < objects.size(); ++i) {
    auto container = TRY_IN(ReadContainer(*objects[i], key == "initContainers", wanted),
                            fmt::format("{}[{}]", key, i));
    container.place = i;
    pod.containers.push_back(std::move(container));
  }
  return {};
}

Result<NodeTerm> ReadTerm(const json::Object& object) {
  const auto expressions = TRY(kube::ObjectsIn(object, "matchExpressions"));
  const auto fields = TRY(kube::ObjectsIn(object, "matchFields"));
  NodeTerm term{.empty = expressions.empty() && fields.empty(),
                .has_expressions = Has(object, "matchExpressions")};
  for (const json::Object* expression : expressions) {
    const std::string how = TRY(kube::TextIn(*expression, "operator"));
    if (how != "Exists" && how != "In") continue;
    term.labels_had.push_back(TRY(kube::TextIn(*expression, "key")));
  }
  return term;
}

Result<NodeTerms> ReadTerms(const json::Object& spec) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const json::Object& affinity = *TRY(kube::ObjectIn(spec, "affinity"));
  const json::Object& of_node = *TRY(kube::ObjectIn(affinity, "nodeAffinity"));
  const json::Object& required = *TRY(kube::ObjectIn(of_node, kRequired));
  NodeTerms found{.affinity = Has(spec, "affinity"),
                  .node_affinity = Has(affinity, "nodeAffinity"),
                  .required = Has(of_node, kRequired)};
  for (const json::Object* term : TRY(kube::ObjectsIn(required, "nodeSelectorTerms"))) {
    found.terms.push_back(TRY(ReadTerm(*term)));
  }
  return found;
}

Status ReadMetadata(const json::Object& metadata, NewPod& pod) {
  pod.name = TRY(kube::TextIn(metadata, "name"));
  if (pod.name.empty()) pod.name = TRY(kube::TextIn(metadata, "generateName"));
  std::string excess;
  pod.labels = TRY(kube::TextsIn(metadata, "labels", kAll, excess));
  pod.annotations = TRY(kube::TextsIn(metadata, "annotations", kAll, excess));
  if (!excess.empty()) return Fail(Reason::kInvalid, "{}", excess);
  return {};
}

Status ReadSpec(const json::Object& spec, const kube::PodFields& wanted, NewPod& pod) {
  pod.scheduler = TRY(kube::TextIn(spec, "schedulerName"));
  pod.node = TRY(kube::TextIn(spec, "nodeName"));
  pod.runtime_class = TRY(kube::TextIn(spec, "runtimeClassName"));
  for (const auto& label : *TRY(kube::ObjectIn(spec, "nodeSelector"))) {
    pod.selected_labels.emplace_back(label.key());
  }
  pod.node_terms = TRY_IN(ReadTerms(spec), "affinity");
  TRY(AddContainers(spec, "initContainers", wanted, pod));
  return AddContainers(spec, "containers", wanted, pod);
}

Result<NewPod> ReadPod(const json::Object& request, const kube::PodFields& wanted) {
  NewPod pod;
  const json::Object& object = *TRY(kube::ObjectIn(request, "object"));
  const json::Object* metadata = TRY(kube::ObjectIn(object, "metadata"));
  TRY_IN(ReadMetadata(*metadata, pod), "metadata");
  const json::Object* spec = TRY(kube::ObjectIn(object, "spec"));
  TRY_IN(ReadSpec(*spec, wanted, pod), "spec");
  return pod;
}

Result<bool> MakesPod(const json::Object& request) {
  const json::Object& resource = *TRY(kube::ObjectIn(request, "resource"));
  return TRY(kube::TextIn(request, "operation")) == "CREATE" &&
         TRY(kube::TextIn(request, "subResource")).empty() &&
         TRY(kube::TextIn(resource, "group")).empty() &&
         TRY(kube::TextIn(resource, "resource")) == "pods";
}

Status ReadUser(const json::Object& request, Review& review) {
  const json::Object& user = *TRY(kube::ObjectIn(request, "userInfo"));
  review.user = TRY(kube::TextIn(user, "username"));
  const json::Array* groups = json::GetArray(user, "groups");
  if (groups == nullptr) return {};
  for (const json::Value& group : *groups) {
    // The rules name no such group.
    if (group.is_string()) review.groups.emplace_back(group.get_string());
  }
  return {};
}

}  // namespace

Result<Review> ReadReview(std::string_view body, const kube::PodFields& wanted) {
  json::Reader reader(ReviewShape(wanted), kMostKept);
  TRY(reader.Add(body));
  const json::Value value = TRY(reader.End());
  const json::Object* whole = value.if_object();
  if (whole == nullptr) return Fail(Reason::kInvalid, "an AdmissionReview is not an object");
  Review review{.version = TRY(kube::TextIn(*whole, "apiVersion"))};
  const bool known =
      review.version == "admission.k8s.io/v1" || review.version == "admission.k8s.io/v1beta1";
  if (!known || TRY(kube::TextIn(*whole, "kind")) != "AdmissionReview") {
    return Fail(Reason::kInvalid, "not an AdmissionReview of admission.k8s.io/v1 or v1beta1: {}",
                Brief(review.version));
  }
  const json::Object& request = *TRY(kube::ObjectIn(*whole, "request"));
  review.uid = TRY_IN(kube::NeededTextIn(request, "uid"), "request");
  review.makes_pod = TRY_IN(MakesPod(request), "request");
  review.pod_namespace = TRY_IN(kube::TextIn(request, "namespace"), "request");
  TRY_IN(ReadUser(request, review), "request");
  if (!review.makes_pod) return review;
  if (whole->contains(json::kCut)) {
    review.pod =
        Fail(Reason::kInvalid, "its fields that are read have more than {} MiB", kMostKept >> 20);
  } else {
    review.pod = ReadPod(request, wanted);
  }
  return review;
}

json::Value AnswerJson(const Review& review, const Decision& decision, Stage stage) {
  json::Object response{{"uid", review.uid}, {"allowed", decision.allowed}};
  if (!decision.allowed) {
    response["status"] = json::Object{{"status", "Failure"},
                                      {"message", decision.message},
                                      {"reason", "Forbidden"},
                                      {"code", kForbidden}};
  }
  if (!decision.warnings.empty()) {
    json::Array warnings;
    for (const std::string& warning : decision.warnings) warnings.emplace_back(warning);
    response["warnings"] = std::move(warnings);
  }
  if (decision.allowed && stage == Stage::kMutating && !decision.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = EncodeBase64(json::Write(decision.patch));
  }
  return json::Object{{"apiVersion", review.version},
                      {"kind", "AdmissionReview"},
                      {"response", std::move(response)}};
}

}  // namespace tessera::webhook
