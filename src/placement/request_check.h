// SPDX-License-Identifier: Apache-2.0
// Whether what a container asks for can be meant: an amount that cannot is refused by the name of
// its resource, and never taken for nothing, or for all of a device. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects/pod.h"
#include "placement/requests.h"

namespace tessera {

// Of those that the rules name: the ones that say how much a container asks for.
std::vector<std::string> ResourcesOf(const RequestRules& rules);

// Whether the container asks for any of them, also for an amount that cannot be meant. One of 0 is
// none.
bool AsksForAny(const kube::Container& container, const RequestRules& rules);

// By which of several rules, each of other devices, containers ask: its place. Nothing where they
// ask for nothing. kInvalid where they ask by two: no node has devices of both.
Result<std::optional<size_t>> RulesAskedBy(std::span<const kube::Container* const> containers,
                                           std::span<const RequestRules* const> rules);

// kInvalid with what to write instead: no whole number of what the resource counts, percentages
// over 100, limits and requests that differ, a size of no device, two sizes, or what the rules do
// not have together.
Status CheckRequest(const kube::Container& container, const RequestRules& rules);

}  // namespace tessera
