// SPDX-License-Identifier: Apache-2.0
// Checks a container's request. An invalid amount is refused by the name of its resource; it never
// counts as none, or as a whole device. Pure. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/requests.h"

namespace tessera {

// The resource names in the rules by which a container requests amounts.
std::vector<std::string> ResourcesOf(const RequestRules& rules);

// Whether the container requests any of them, even with an invalid amount. An amount of 0 is no
// request.
bool AsksForAny(const kube::Container& container, const RequestRules& rules);

// The index of the rules, one per vendor, by which the containers request devices. Nothing if they
// request none. kInvalid for two vendors, since no node has devices of both.
Result<std::optional<size_t>> RulesAskedBy(std::span<const kube::Container* const> containers,
                                           std::span<const RequestRules* const> rules);

// Gives kInvalid, with the correction, for a non-integer amount, a percentage over 100, an
// unavailable size, or two sizes. A limit that differs from its request, or a combination that the
// rules exclude, is also kInvalid.
Status CheckRequest(const kube::Container& container, const RequestRules& rules);

}  // namespace tessera
