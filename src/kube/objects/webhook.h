// SPDX-License-Identifier: Apache-2.0
// The CA that API servers check an admission webhook by, as MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration have it (admissionregistration.k8s.io/v1). Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "json/json.h"
#include "kube/objects/form.h"

namespace tessera::kube {

Form WebhookForm();

// What gives all webhooks of a configuration this CA, or several, in PEM: a strategic merge patch,
// which finds them by their names, in whatever order they are by then. It is a conflict where the
// configuration is another by then. Nothing where all have it.
Result<std::optional<json::Value>> CaBundlePatch(const json::Value& configuration,
                                                 std::string_view ca);

}  // namespace tessera::kube
