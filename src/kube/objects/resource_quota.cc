// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/resource_quota.h"

#include <algorithm>

#include "base/quote.h"
#include "kube/objects/metadata.h"

namespace tessera::kube {
namespace {

constexpr size_t kMostOfQuota = size_t{32} << 10;

constexpr std::string_view kExists = "Exists";

bool MeetsPriority(const ResourceQuota::Scope& scope, const std::string& priority) {
  const bool listed = std::ranges::find(scope.values, priority) != scope.values.end();
  if (scope.operation == "In") return listed;
  if (scope.operation == "NotIn") return !listed;
  if (scope.operation == "DoesNotExist") return priority.empty();
  return scope.operation == kExists && !priority.empty();
}

bool Meets(const ResourceQuota::Scope& scope, const QuotaFacts& facts) {
  if (scope.name == "Terminating") return facts.deadline;
  if (scope.name == "NotTerminating") return !facts.deadline;
  if (scope.name == "BestEffort") return facts.best_effort;
  if (scope.name == "NotBestEffort") return !facts.best_effort;
  if (scope.name == "PriorityClass") return MeetsPriority(scope, facts.priority_class);
  return false;
}

Result<std::vector<std::string>> ListIn(const json::Object& object, std::string_view key) {
  std::vector<std::string> texts;
  const json::Value* list = Member(object, key);
  if (list == nullptr) return texts;
  if (!list->is_array()) return Fail(Reason::kInvalid, "{} is not a list", key);
  for (const json::Value& text : list->get_array()) {
    if (!text.is_string())
      return Fail(Reason::kInvalid, "{} has an element that is not a string", key);
    texts.emplace_back(text.get_string());
  }
  return texts;
}

Result<ResourceQuota> ReadQuotaParts(const json::Object& object, const Which& resource) {
  ResourceQuota quota;
  const json::Object& metadata = *TRY(ObjectIn(object, "metadata"));
  quota.name = TRY_IN(NeededTextIn(metadata, "name"), "metadata");
  quota.quota_namespace = TRY_IN(NeededTextIn(metadata, "namespace"), "metadata");
  const json::Object& spec = *TRY(ObjectIn(object, "spec"));
  std::string excess;
  quota.hard = TRY_IN(TextsIn(spec, "hard", resource, excess), "spec");
  if (object.contains(json::kCut)) excess = fmt::format("it has more than {} bytes", kMostOfQuota);
  if (!excess.empty()) return Fail(Reason::kInvalid, "{}", excess);
  for (const std::string& scope : TRY_IN(ListIn(spec, "scopes"), "spec")) {
    quota.scopes.push_back({.name = scope, .operation = std::string(kExists)});
  }
  const json::Object& selector = *TRY_IN(ObjectIn(spec, "scopeSelector"), "spec");
  for (const json::Object* one : TRY_IN(ObjectsIn(selector, "matchExpressions"), "spec")) {
    quota.scopes.push_back({.name = TRY_IN(NeededTextIn(*one, "scopeName"), "spec"),
                            .operation = TRY_IN(NeededTextIn(*one, "operator"), "spec"),
                            .values = TRY_IN(ListIn(*one, "values"), "spec")});
  }
  return quota;
}

}  // namespace

bool ResourceQuota::Counts(const QuotaFacts& pod) const {
  return std::ranges::all_of(scopes, [&](const Scope& scope) { return Meets(scope, pod); });
}

Form ResourceQuotaForm(const Which& resource) {
  using json::Shape;
  const Shape text = Shape::Scalar();
  const Shape expression = Shape::Object(
      {{"scopeName", text}, {"operator", text}, {"values", Shape::List(Shape::Scalar())}});
  return {
      .shape = Shape::Object(
          {{"metadata",
            Shape::Object(
                {{"name", text}, {"namespace", text}, {"uid", text}, {"resourceVersion", text}})},
           {"spec",
            Shape::Object({{"hard", Shape::Map(resource, text)},
                           {"scopes", Shape::List(text)},
                           {"scopeSelector",
                            Shape::Object({{"matchExpressions", Shape::List(expression)}})}})}}),
      .most = kMostOfQuota};
}

Result<ResourceQuota> ReadResourceQuota(const json::Value& object, const Which& resource) {
  if (!object.is_object()) return Fail(Reason::kInvalid, "a ResourceQuota is not an object");
  const std::string name = ObjectKeyIn(object);
  return TRY_IN(ReadQuotaParts(object.get_object(), resource),
                name.empty() ? "a ResourceQuota without a name" : "ResourceQuota " + Brief(name));
}

size_t CostOf(const ResourceQuota& quota) {
  size_t bytes =
      sizeof quota + quota.name.size() + quota.quota_namespace.size() + CostOf(quota.hard);
  for (const ResourceQuota::Scope& scope : quota.scopes) {
    bytes += sizeof scope;
    for (const std::string& value : scope.values) bytes += sizeof value + value.size();
  }
  return bytes;
}

}  // namespace tessera::kube
