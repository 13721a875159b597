// SPDX-License-Identifier: Apache-2.0
// Checks a matched grant (pod_match.h) when its container is about to be made. A wrong match can
// only be refused, because kubelet keeps the answer to Allocate. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "binding/binding_store.h"
#include "binding/held_grants.h"
#include "grant/grant.h"

namespace tessera {

// kWrongMatch if kubelet's checkpoint names another container than the match.
Status CheckOwner(const HeldGrant& held);
// kWrongMatch if the answer to Allocate differs from the binding record. Sizes alone may differ if
// Tessera's own library enforces them: it reads the limits file, which the agent writes from the
// record.
Status CheckMatch(const Grant& answer, const Offer& offer, const FractionRules& fractions,
                  const BindingRecord& record);

}  // namespace tessera
