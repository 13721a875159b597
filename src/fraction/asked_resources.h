// SPDX-License-Identifier: Apache-2.0
// Which of the configured resources pods ask for in sizes of their own. Pure; any thread.
#pragma once

#include <set>
#include <span>
#include <string>

#include "config/schema/config.h"

namespace tessera {

// The resource that counts the GPUs, and those of memory and cores that go with it.
std::set<std::string> ResourcesAskedFor(std::span<const config::Resource> resources);
// Of those, what counts the GPUs where it has to be known whose grants are when they are made.
std::set<std::string> ResourcesToMatch(std::span<const config::Resource> resources);

}  // namespace tessera
