// SPDX-License-Identifier: Apache-2.0
#include "card/probes/steps.h"

namespace tessera::card {

std::span<const Family> Families() {
  static const Family all[] = {
      {"linear", true, LinearSteps()},
  };
  return all;
}

}  // namespace tessera::card
