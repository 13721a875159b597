// SPDX-License-Identifier: Apache-2.0
// Whether a grant that was matched to a container when kubelet asked (pod_match.h) is that
// container's. kubelet keeps what it was answered: a match that proves wrong cannot be mended.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "binding/binding_store.h"
#include "binding/held_grants.h"
#include "grant/grant.h"

namespace tessera {

// kWrongMatch where it was matched to another container than the one that kubelet's checkpoint
// names.
Status CheckOwner(const HeldGrant& held);
// kWrongMatch where it says something else than what the container is to have. Sizes alone may be
// others where Tessera's own library holds the container to them: it goes by the limits file, which
// is written by the record.
Status CheckMatch(const Grant& answer, const Offer& offer, const FractionRules& fractions,
                  const BindingRecord& record);

}  // namespace tessera
