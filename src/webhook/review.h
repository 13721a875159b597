// SPDX-License-Identifier: Apache-2.0
// An AdmissionReview (admission.k8s.io/v1, and v1beta1 with the same body): an API server's
// question to a webhook, and the answer. Only the parts of the pod that decisions need are kept.
// The answer is a patch, so the rest of the pod never passes through here.
// Pure. Plain data. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/pod.h"

namespace tessera::webhook {

struct Variable {
  std::string name{};
  // Nothing if the value comes from elsewhere (valueFrom) or exceeds the length that is read.
  std::optional<std::string> value{};
  bool operator==(const Variable&) const = default;
};

struct NewContainer {
  kube::Container asked{};  // without variables
  size_t place = 0;         // index in the list of its kind
  bool privileged = false;
  std::vector<Variable> variables{};  // in order, with duplicates
};

// One node selector term; a node must match at least one. An empty term matches no node.
struct NodeTerm {
  bool empty = false;
  bool has_expressions = false;           // the list exists
  std::vector<std::string> labels_had{};  // label keys that the term requires
};

// The parts of the required node affinity that the pod already has.
struct NodeTerms {
  bool affinity = false;
  bool node_affinity = false;
  bool required = false;
  std::vector<NodeTerm> terms{};
};

// A pod before its creation: it may lack a name, and has no UID.
struct NewPod {
  std::string name{};  // or generateName
  std::string scheduler{};
  std::string node{};
  std::string runtime_class{};
  kube::Texts labels{};
  kube::Texts annotations{};
  std::vector<std::string> selected_labels{};  // keys of its nodeSelector
  NodeTerms node_terms{};
  std::vector<NewContainer> containers{};  // init containers first
};

struct Review {
  std::string version{};  // "admission.k8s.io/v1"
  std::string uid{};
  std::string user{};
  std::vector<std::string> groups{};
  std::string pod_namespace{};
  // True for the creation of a pod itself, not of a subresource.
  bool makes_pod = false;
  // Set if makes_pod. kInvalid if the pod's form is wrong or a part exceeds the limits.
  Result<NewPod> pod{};
};

// kInvalid if the body is no review, which has no possible answer.
Result<Review> ReadReview(std::string_view body, const kube::PodFields& wanted);

struct Decision {
  bool allowed = true;
  std::string message{};                // the reason of a refusal
  std::vector<std::string> warnings{};  // for the pod's creator
  json::Array patch{};                  // JSON patch (RFC 6902); empty: unchanged
};

// A mutating webhook may answer with a patch, a validating one may not.
enum class Stage : uint8_t { kMutating, kValidating };
json::Value AnswerJson(const Review& review, const Decision& decision, Stage stage);

}  // namespace tessera::webhook
