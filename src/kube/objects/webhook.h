// SPDX-License-Identifier: Apache-2.0
// The CA by which API servers verify an admission webhook, in MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration (admissionregistration.k8s.io/v1). Pure. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"

namespace tessera::kube {

Form WebhookForm();

// A strategic merge patch that sets this PEM bundle in all webhooks of a configuration. It finds
// webhooks by name, so their order does not matter. It conflicts if the configuration has changed.
// Nothing if all webhooks have the bundle.
Result<std::optional<json::Value>> CaBundlePatch(const json::Value& configuration,
                                                 std::string_view ca);

}  // namespace tessera::kube
