// SPDX-License-Identifier: Apache-2.0
#include "kube/objects/cluster_node.h"

#include "base/quote.h"
#include "kube/objects/metadata.h"

namespace tessera::kube {
namespace {

// A registered GPU takes some 200 bytes of an annotation.
constexpr size_t kMostOfNode = 96 << 10;

// The parser calls the function for each name, so it must not be empty.
Which AsIs(const Which& which) {
  return [which](std::string_view name) { return which && which(name); };
}

Result<ClusterNode> ReadNodeParts(const json::Object& object, const ClusterNodeFields& wanted) {
  ClusterNode node;
  if (object.contains(json::kCut)) {
    node.excess = fmt::format("its fields that are read have more than {} bytes", kMostOfNode);
  }
  const json::Object& metadata = *TRY(ObjectIn(object, "metadata"));
  node.name = TRY_IN(NeededTextIn(metadata, "name"), "metadata");
  node.uid = TRY_IN(NeededTextIn(metadata, "uid"), "metadata");
  node.labels = TRY_IN(TextsIn(metadata, "labels", wanted.label, node.excess), "metadata");
  node.annotations =
      TRY_IN(TextsIn(metadata, "annotations", wanted.annotation, node.excess), "metadata");
  const json::Object& spec = *TRY(ObjectIn(object, "spec"));
  node.unschedulable = TRY_IN(FlagIn(spec, "unschedulable"), "spec");
  const json::Object& status = *TRY(ObjectIn(object, "status"));
  node.allocatable = TRY_IN(TextsIn(status, "allocatable", wanted.resource, node.excess), "status");
  return node;
}

}  // namespace

Form ClusterNodeForm(const ClusterNodeFields& wanted) {
  using json::Shape;
  const Shape text = Shape::Scalar();
  return {
      .shape = Shape::Object(
          {{"metadata",
            Shape::Object({{"name", text},
                           {"uid", text},
                           {"resourceVersion", text},
                           {"labels", Shape::Map(AsIs(wanted.label), text)},
                           {"annotations", Shape::Map(AsIs(wanted.annotation),
                                                      Shape::Scalar(kLongestAnnotation))}})},
           {"spec", Shape::Object({{"unschedulable", text}})},
           {"status", Shape::Object({{"allocatable", Shape::Map(AsIs(wanted.resource), text)}})}}),
      .most = kMostOfNode};
}

Result<ClusterNode> ReadClusterNode(const json::Value& object, const ClusterNodeFields& wanted) {
  if (!object.is_object()) return Fail(Reason::kInvalid, "a node is not an object");
  const std::string name = ObjectKeyIn(object);
  return TRY_IN(ReadNodeParts(object.get_object(), wanted),
                name.empty() ? "a node without a name" : "node " + Brief(name));
}

size_t CostOf(const ClusterNode& node) {
  return sizeof node + node.name.size() + node.uid.size() + CostOf(node.labels) +
         CostOf(node.annotations) + CostOf(node.allocatable);
}

}  // namespace tessera::kube
