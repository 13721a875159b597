// SPDX-License-Identifier: Apache-2.0
// The kinds of devices a resource can be made of: one for every tessera_kind() line in
// CMakeLists.txt. Immutable; any thread.
#pragma once

#include <vector>

#include "backend/kind.h"

namespace tessera {

const std::vector<Kind>& Kinds();
// Null when no section of the resource says it, which no checked configuration has.
const Kind* KindOf(const config::Resource& resource);

}  // namespace tessera
