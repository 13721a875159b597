// SPDX-License-Identifier: Apache-2.0
#include "config/kinds.h"

namespace tessera::config {

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {DummyKind(), FilesKind()};
  return kinds;
}

const Kind& KindOf(const Config& config, size_t index) {
  for (const Kind& kind : Kinds()) {
    if (kind.section.choice.chosen(config, At{index})) return kind;
  }
  return Kinds().front();
}

}  // namespace tessera::config
