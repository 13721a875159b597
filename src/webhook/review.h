// SPDX-License-Identifier: Apache-2.0
// An API server's question to an admission webhook, and the answer (AdmissionReview,
// admission.k8s.io/v1, and v1beta1, which has the same body). Of the pod is kept what is decided
// by: the answer has what is to be changed, so that nothing else of the pod passes through here.
// Pure; plain data; any thread.
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
  // Nothing: it is taken from elsewhere (valueFrom), or longer than is read.
  std::optional<std::string> value{};
  bool operator==(const Variable&) const = default;
};

struct NewContainer {
  kube::Container asked{};  // without variables
  size_t place = 0;         // in the list of its kind
  bool privileged = false;
  std::vector<Variable> variables{};  // in their order, each name as often as it is there
};

// One of the terms of which a node must meet one. Without anything it is met by none.
struct NodeTerm {
  bool empty = false;
  bool has_expressions = false;           // a list of them
  std::vector<std::string> labels_had{};  // keys that a node must have to meet it
};

// What of a pod that requires terms is there already.
struct NodeTerms {
  bool affinity = false;
  bool node_affinity = false;
  bool required = false;
  std::vector<NodeTerm> terms{};
};

// A pod that is to be made: it may have no name yet, and no UID.
struct NewPod {
  std::string name{};  // or what its name will begin with
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
  // The creation of a pod, and of nothing that belongs to it.
  bool makes_pod = false;
  // Of such a review. kInvalid where it is not as Kubernetes has it, or has more than is read.
  Result<NewPod> pod{};
};

// kInvalid where it is no review, which nobody can answer.
Result<Review> ReadReview(std::string_view body, const kube::PodFields& wanted);

struct Decision {
  bool allowed = true;
  std::string message{};                // why not
  std::vector<std::string> warnings{};  // for whoever makes the pod
  json::Array patch{};                  // JSON patch (RFC 6902); empty: nothing is changed
};

// A mutating webhook changes pods; a validating one may not answer with a patch.
enum class Stage : uint8_t { kMutating, kValidating };
json::Value AnswerJson(const Review& review, const Decision& decision, Stage stage);

}  // namespace tessera::webhook
