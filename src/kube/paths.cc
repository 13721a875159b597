// SPDX-License-Identifier: Apache-2.0
#include "kube/paths.h"

#include <fmt/core.h>

#include "http/target.h"

namespace tessera::kube {
namespace {

using http::PercentEncode;

constexpr char kAdmission[] = "/apis/admissionregistration.k8s.io/v1";

}  // namespace

std::string NodePath(const std::string& node) {
  return "/api/v1/nodes/" + PercentEncode(node);
}

std::string PodPath(const std::string& pod_namespace, const std::string& name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", PercentEncode(pod_namespace),
                     PercentEncode(name));
}

std::string SecretsPath(const std::string& secret_namespace) {
  return fmt::format("/api/v1/namespaces/{}/secrets", PercentEncode(secret_namespace));
}

std::string SecretPath(const std::string& secret_namespace, const std::string& name) {
  return fmt::format("{}/{}", SecretsPath(secret_namespace), PercentEncode(name));
}

std::string LeasesPath(const std::string& lease_namespace) {
  return fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases",
                     PercentEncode(lease_namespace));
}

std::string MutatingWebhookPath(const std::string& name) {
  return fmt::format("{}/mutatingwebhookconfigurations/{}", kAdmission, PercentEncode(name));
}

std::string ValidatingWebhookPath(const std::string& name) {
  return fmt::format("{}/validatingwebhookconfigurations/{}", kAdmission, PercentEncode(name));
}

}  // namespace tessera::kube
