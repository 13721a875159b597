// SPDX-License-Identifier: Apache-2.0
#include "kinds/kinds.h"

namespace tessera {

#define TESSERA_KIND(name) \
  namespace name {         \
  Kind Describe();         \
  }
#include "kinds.def"
#undef TESSERA_KIND

const std::vector<Kind>& Kinds() {
#define TESSERA_KIND(name) name::Describe(),
  static const std::vector<Kind> kinds = {
#include "kinds.def"
  };
#undef TESSERA_KIND
  return kinds;
}

const Kind* KindOf(const config::Resource& resource) {
  for (const Kind& kind : Kinds()) {
    if (kind.is(resource.kind)) return &kind;
  }
  return nullptr;
}

}  // namespace tessera
