// SPDX-License-Identifier: Apache-2.0
#include "card/probes/steps.h"

namespace tessera::card {

std::span<const Family> Families() {
  static const Family all[] = {
      {"primary contexts", false, PrimarySteps()},
      {"linear memory", true, LinearSteps()},
      {"sizes", true, SizeSteps()},
      {"virtual memory", true, VirtualSteps()},
      {"pools", true, PoolSteps()},
      {"arrays", true, ArraySteps()},
      {"contexts", true, ContextSteps()},
      {"modules", true, ModuleSteps()},
      {"graphs", true, GraphSteps()},
      {"handed on", true, HandedSteps()},
      {"attacks", true, AttackSteps(), true},
      {"races", true, RaceSteps(), true},
      {"launches", true, LaunchSteps()},
      {"time", true, TimeAttackSteps(), true, true},
      {"time, processes that end", true, EndAttackSteps(), true, true},
      {"time, streams", true, StreamAttackSteps(), true, true},
  };
  return all;
}

}  // namespace tessera::card
