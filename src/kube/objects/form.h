// SPDX-License-Identifier: Apache-2.0
// The parts of objects that a client keeps. Pure. Plain data. Any thread.
#pragma once

#include <cstddef>

#include "json/reader.h"

namespace tessera::kube {

// The parts kept of a kind's objects. The parser skips the rest, so this bounds an object's memory,
// whoever created it.
struct Form {
  json::Shape shape;
  size_t most;  // approximate bytes of an object; cut texts are marked (json::kCut)
};

}  // namespace tessera::kube
