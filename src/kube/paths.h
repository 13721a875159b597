// SPDX-License-Identifier: Apache-2.0
// API paths of single objects. Names are percent-encoded. Pure. Any thread.
#pragma once

#include <string>

namespace tessera::kube {

std::string NodePath(const std::string& node);
// "/api/v1/namespaces/NAMESPACE/pods/NAME"
std::string PodPath(const std::string& pod_namespace, const std::string& name);
// A namespace's Secrets, also for creating one; and one Secret.
std::string SecretsPath(const std::string& secret_namespace);
std::string SecretPath(const std::string& secret_namespace, const std::string& name);
// A namespace's Leases.
std::string LeasesPath(const std::string& lease_namespace);
std::string MutatingWebhookPath(const std::string& name);
std::string ValidatingWebhookPath(const std::string& name);

}  // namespace tessera::kube
