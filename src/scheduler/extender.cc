// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender.h"

#include <utility>

#include "json/reader.h"
#include "kube/objects/members.h"

namespace tessera::scheduler {
namespace {

using json::Shape;

constexpr size_t kMostKept = size_t{32} << 20;  // what is kept of it

Result<json::Value> Read(const Shape& shape, std::string_view body,
                         json::Reader::Element each = {}) {
  json::Reader reader(shape, kMostKept, std::move(each));
  TRY(reader.Add(body));
  return reader.End();
}

Shape NodesShape() {
  const Shape name = Shape::Object({{"name", Shape::Scalar()}});
  return Shape::Object({{"items", Shape::List(Shape::Object({{"metadata", name}}))}});
}

Result<std::vector<std::string>> NamesOfNodes(const json::Object& call) {
  std::vector<std::string> names;
  const json::Object* list = TRY(kube::ObjectIn(call, "Nodes"));
  for (const json::Object* node : TRY(kube::ObjectsIn(*list, "items"))) {
    const json::Object* metadata = TRY(kube::ObjectIn(*node, "metadata"));
    names.push_back(TRY(kube::NeededTextIn(*metadata, "name")));
  }
  return names;
}

json::Value TextsJson(const std::map<std::string, std::string>& texts) {
  json::Object object;
  for (const auto& [key, text] : texts) object[key] = text;
  return object;
}

}  // namespace

Result<FilterCall> ReadFilterCall(std::string_view body, const kube::PodFields& wanted) {
  const Shape shape = Shape::Object({{"Pod", kube::PodForm(wanted).shape},
                                     {"Nodes", NodesShape()},
                                     {"NodeNames", Shape::Each(Shape::Scalar())}});
  FilterCall filter;
  bool all_texts = true;
  // Of thousands each is kept once.
  const json::Value value = TRY(Read(shape, body, [&](const json::Value& name) {
    all_texts = all_texts && name.is_string();
    if (name.is_string()) filter.nodes.emplace_back(name.get_string());
  }));
  const json::Object* call = value.if_object();
  if (call == nullptr) return Fail(Reason::kInvalid, "a call of filter is no object");
  if (!all_texts) return Fail(Reason::kInvalid, "a name in NodeNames is no text");
  const json::Value* names = kube::Member(*call, "NodeNames");
  if (names != nullptr && !names->is_array()) {
    return Fail(Reason::kInvalid, "NodeNames is no list");
  }
  const json::Value* pod = kube::Member(*call, "Pod");
  if (pod == nullptr) return Fail(Reason::kInvalid, "a call of filter has no Pod");
  filter.pod = TRY(kube::ReadPod(*pod, wanted));
  filter.simulated = kube::Member(*call, "Nodes") != nullptr;
  if (filter.simulated) filter.nodes = TRY(NamesOfNodes(*call));
  return filter;
}

json::Value FilterAnswerJson(const FilterAnswer& answer) {
  json::Array names;
  for (const std::string& node : answer.nodes) names.emplace_back(node);
  return json::Object{{"Nodes", nullptr},
                      {"NodeNames", std::move(names)},
                      {"FailedNodes", TextsJson(answer.failed)},
                      {"FailedAndUnresolvableNodes", TextsJson(answer.unresolvable)},
                      {"Error", answer.error}};
}

Result<BindCall> ReadBindCall(std::string_view body) {
  const Shape text = Shape::Scalar();
  const json::Value value = TRY(Read(
      Shape::Object({{"PodName", text}, {"PodNamespace", text}, {"PodUID", text}, {"Node", text}}),
      body));
  const json::Object* call = value.if_object();
  if (call == nullptr) return Fail(Reason::kInvalid, "a call of bind is no object");
  return BindCall{.pod_namespace = TRY(kube::NeededTextIn(*call, "PodNamespace")),
                  .pod = TRY(kube::NeededTextIn(*call, "PodName")),
                  .uid = TRY(kube::NeededTextIn(*call, "PodUID")),
                  .node = TRY(kube::NeededTextIn(*call, "Node"))};
}

json::Value BindAnswerJson(std::string_view error) {
  return json::Object{{"Error", error}};
}

}  // namespace tessera::scheduler
