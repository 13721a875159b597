// SPDX-License-Identifier: Apache-2.0
// The kinds of devices that a resource can have: one for every tessera_kind() line in
// CMakeLists.txt. Immutable; any thread.
#pragma once

#include "backend/kind.h"
#include "config/schema.h"

namespace tessera {

const Kinds& AllKinds();
// The configuration's keys for resources of all kinds.
const config::Schema& FullSchema();

}  // namespace tessera
