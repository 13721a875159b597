// SPDX-License-Identifier: Apache-2.0
// The kinds of devices a resource can be made of: one for every tessera_kind() line in
// CMakeLists.txt. Immutable; any thread.
#pragma once

#include "backend/kind.h"
#include "config/schema.h"

namespace tessera {

const Kinds& AllKinds();
// The keys of a configuration whose resources are of any of them.
const config::Schema& FullSchema();

}  // namespace tessera
