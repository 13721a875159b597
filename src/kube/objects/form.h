// SPDX-License-Identifier: Apache-2.0
// What a client keeps of the objects that it reads. Plain data; pure; any thread.
#pragma once

#include <cstddef>

#include "json/reader.h"

namespace tessera::kube {

// What is kept of the objects of a kind: the rest is read past as it comes, so that what an object
// costs is bounded here, and not by who made it.
struct Form {
  json::Shape shape;
  size_t most;  // bytes of one object, about: what is cut off there is marked (json::kCut)
};

}  // namespace tessera::kube
