// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender.h"

#include <utility>

#include "json/reader.h"
#include "kube/objects/members.h"

namespace tessera::scheduler {
namespace {

using json::Shape;

// Bytes kept of a call.
constexpr size_t kMostKept = size_t{32} << 20;

Result<json::Value> Read(const Shape& shape, std::string_view body, json::Reader::Element each = {},
                         json::Reader::TextElement text = {}) {
  json::Reader reader(shape, kMostKept, std::move(each), std::move(text));
  TRY(reader.Add(body));
  return reader.End();
}

Shape NodesShape() {
  const Shape name = Shape::Object({{"name", Shape::Scalar()}});
  return Shape::Object({{"items", Shape::List(Shape::Object({{"metadata", name}}))}});
}

// Names in one buffer, which may move while names are added.
class NameList {
 public:
  explicit NameList(size_t likely) { text_.reserve(likely); }
  void Add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  void MoveTo(FilterCall& call) {
    call.names = std::make_shared<const std::string>(std::move(text_));
    size_t begin = 0;
    for (const size_t end : ends_) {
      call.nodes.push_back(std::string_view(*call.names).substr(begin, end - begin));
      begin = end;
    }
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

Status AddNamesOfNodes(const json::Object& call, NameList& names) {
  const json::Object* list = TRY(kube::ObjectIn(call, "Nodes"));
  for (const json::Object* node : TRY(kube::ObjectsIn(*list, "items"))) {
    const json::Object* metadata = TRY(kube::ObjectIn(*node, "metadata"));
    names.Add(TRY(kube::NeededTextIn(*metadata, "name")));
  }
  return {};
}

Result<Victims> VictimsIn(const json::Value& value) {
  const json::Object* object = value.if_object();
  if (object == nullptr) return Fail(Reason::kInvalid, "a node's victims are not an object");
  Victims victims;
  for (const json::Object* pod : TRY(kube::ObjectsIn(*object, "Pods"))) {
    victims.uids.push_back(TRY(kube::NeededTextIn(*pod, "UID")));
  }
  victims.violations = json::GetInt(*object, "NumPDBViolations").value_or(0);
  return victims;
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
  NameList names(body.size());
  bool all_texts = true;
  const json::Value value = TRY(Read(
      shape, body, [&](const json::Value&) { all_texts = false; },
      [&](const std::string& name) { names.Add(name); }));
  const json::Object* call = value.if_object();
  if (call == nullptr) return Fail(Reason::kInvalid, "a call of filter is not an object");
  if (!all_texts) return Fail(Reason::kInvalid, "a name in NodeNames is not a string");
  const json::Value* listed = kube::Member(*call, "NodeNames");
  if (listed != nullptr && !listed->is_array()) {
    return Fail(Reason::kInvalid, "NodeNames is not a list");
  }
  const json::Value* pod = kube::Member(*call, "Pod");
  if (pod == nullptr) return Fail(Reason::kInvalid, "a call of filter has no Pod");
  filter.pod = TRY(kube::ReadPod(*pod, wanted));
  filter.simulated = kube::Member(*call, "Nodes") != nullptr;
  if (filter.simulated) {
    names = NameList(body.size());
    TRY(AddNamesOfNodes(*call, names));
  }
  names.MoveTo(filter);
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

json::Value ScoresJson(const std::map<std::string, int64_t, std::less<>>& scores) {
  json::Array list;
  for (const auto& [node, score] : scores) {
    list.emplace_back(json::Object{{"Host", node}, {"Score", score}});
  }
  return list;
}

Result<PreemptCall> ReadPreemptCall(std::string_view body, const kube::PodFields& wanted) {
  const Shape scalar = Shape::Scalar();
  const Shape victims = Shape::Object(
      {{"Pods", Shape::List(Shape::Object({{"UID", scalar}}))}, {"NumPDBViolations", scalar}});
  const json::Value value =
      TRY(Read(Shape::Object({{"Pod", kube::PodForm(wanted).shape},
                              {"NodeNameToMetaVictims",
                               Shape::Map([](std::string_view) { return true; }, victims)}}),
               body));
  const json::Object* call = value.if_object();
  if (call == nullptr) return Fail(Reason::kInvalid, "a call of preempt is not an object");
  const json::Value* pod = kube::Member(*call, "Pod");
  if (pod == nullptr) return Fail(Reason::kInvalid, "a call of preempt has no Pod");
  if (kube::Member(*call, "NodeNameToMetaVictims") == nullptr) {
    return Fail(Reason::kInvalid,
                "a call of preempt has no NodeNameToMetaVictims: set nodeCacheCapable in "
                "KubeSchedulerConfiguration");
  }
  PreemptCall preempt{.pod = TRY(kube::ReadPod(*pod, wanted))};
  for (const auto& node : *TRY(kube::ObjectIn(*call, "NodeNameToMetaVictims"))) {
    preempt.nodes[std::string(node.key())] =
        TRY_IN(VictimsIn(node.value()), "NodeNameToMetaVictims");
  }
  return preempt;
}

json::Value PreemptAnswerJson(const VictimsByNode& nodes) {
  json::Object object;
  for (const auto& [node, victims] : nodes) {
    json::Array pods;
    for (const std::string& uid : victims.uids) pods.emplace_back(json::Object{{"UID", uid}});
    object[node] =
        json::Object{{"Pods", std::move(pods)}, {"NumPDBViolations", victims.violations}};
  }
  return json::Object{{"NodeNameToMetaVictims", std::move(object)}};
}

Result<BindCall> ReadBindCall(std::string_view body) {
  const Shape text = Shape::Scalar();
  const json::Value value = TRY(Read(
      Shape::Object({{"PodName", text}, {"PodNamespace", text}, {"PodUID", text}, {"Node", text}}),
      body));
  const json::Object* call = value.if_object();
  if (call == nullptr) return Fail(Reason::kInvalid, "a call of bind is not an object");
  return BindCall{.pod_namespace = TRY(kube::NeededTextIn(*call, "PodNamespace")),
                  .pod = TRY(kube::NeededTextIn(*call, "PodName")),
                  .uid = TRY(kube::NeededTextIn(*call, "PodUID")),
                  .node = TRY(kube::NeededTextIn(*call, "Node"))};
}

json::Value BindAnswerJson(std::string_view error) {
  return json::Object{{"Error", error}};
}

}  // namespace tessera::scheduler
