// SPDX-License-Identifier: Apache-2.0
// Where the API server has single objects. Names are percent-encoded. Pure; any thread.
#pragma once

#include <string>

namespace tessera::kube {

std::string NodePath(const std::string& node);
// "/api/v1/namespaces/NAMESPACE/pods/NAME"
std::string PodPath(const std::string& pod_namespace, const std::string& name);
// Of all Secrets of a namespace, where one is created, and of one.
std::string SecretsPath(const std::string& secret_namespace);
std::string SecretPath(const std::string& secret_namespace, const std::string& name);
// Of all Leases of a namespace.
std::string LeasesPath(const std::string& lease_namespace);
// Of MutatingWebhookConfigurations and ValidatingWebhookConfigurations.
std::string MutatingWebhookPath(const std::string& name);
std::string ValidatingWebhookPath(const std::string& name);

}  // namespace tessera::kube
