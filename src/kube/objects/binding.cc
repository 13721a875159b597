// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/binding.h"

#include "base/quote.h"

namespace tessera::kube {
namespace {

Status CheckAnnotations(const Texts& annotations) {
  size_t all = 0;
  for (const auto& [key, value] : annotations) {
    all += key.size() + value.size();
    if (value.size() <= kLongestAnnotation) continue;
    return Fail(Reason::kInvalid, "the annotation {} has {} bytes, at most {} are read", Brief(key),
                value.size(), kLongestAnnotation);
  }
  if (all <= Binding::kMostOfAnnotations) return {};
  return Fail(Reason::kInvalid, "its annotations have {} bytes; at most {} are allowed", all,
              Binding::kMostOfAnnotations);
}

json::Object ObjectOf(const Texts& texts) {
  json::Object object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

}  // namespace

Result<json::Value> BindingJson(const Binding& binding) {
  const std::string what =
      fmt::format("the binding of pod {}/{}", Brief(binding.pod_namespace), Brief(binding.pod));
  for (const std::string* part :
       {&binding.pod_namespace, &binding.pod, &binding.uid, &binding.node}) {
    if (part->empty()) return Fail(Reason::kInvalid, "{}: a field is missing", what);
  }
  TRY_IN(CheckAnnotations(binding.annotations), what);
  json::Object metadata{
      {"name", binding.pod}, {"namespace", binding.pod_namespace}, {"uid", binding.uid}};
  if (!binding.annotations.empty()) metadata["annotations"] = ObjectOf(binding.annotations);
  if (!binding.labels.empty()) metadata["labels"] = ObjectOf(binding.labels);
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", std::move(metadata)},
      {"target", json::Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", binding.node}}}};
}

}  // namespace tessera::kube
