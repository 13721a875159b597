// SPDX-License-Identifier: Apache-2.0
#include "kinds/kinds.h"

namespace tessera {

#define TESSERA_KIND(name) \
  namespace name {         \
  Kind Describe();         \
  }
#include "kinds.def"
#undef TESSERA_KIND

const Kinds& AllKinds() {
#define TESSERA_KIND(name) name::Describe(),
  static const Kinds kinds = {
#include "kinds.def"
  };
#undef TESSERA_KIND
  return kinds;
}

const config::Schema& FullSchema() {
  static const config::Schema schema(AllKinds());
  return schema;
}

}  // namespace tessera
