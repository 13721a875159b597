// SPDX-License-Identifier: Apache-2.0
// The memory probe's tables beside functions.def.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "card/probes/steps.h"

namespace tessera::card {
namespace {

// They take no memory: what waits for work is measured by the parts of time.
const std::set<std::string> kElsewhere = {
    "cuCtxSynchronize", "cuCtxSynchronize_v2", "cuStreamSynchronize", "cuStreamSynchronize_ptsz",
    "cuStreamQuery",    "cuStreamQuery_ptsz",  "cuEventSynchronize",  "cuEventQuery",
    "cuMemcpyDtoH",     "cuMemcpyDtoH_v2",     "cuMemcpyDtoH_v2_ptds"};

const std::set<std::string> kHooked = {
#define HOOKED(name, since) #name,
#include "limiter/driver/functions.def"
};

std::set<std::string> Probed() {
  std::set<std::string> probed;
  for (const Family& family : Families()) {
    for (const Step& step : family.steps) {
      std::istringstream functions(step.functions);
      for (std::string name; functions >> name;) probed.insert(name);
    }
  }
  return probed;
}

TEST(ProbesTest, EveryFunctionThatIsHookedIsProbedOnceAtLeast) {
  std::set<std::string> expected = kHooked;
  for (const std::string& name : kElsewhere) EXPECT_EQ(expected.erase(name), 1U) << name;
  EXPECT_EQ(Probed(), expected);
}

TEST(ProbesTest, NoTwoStepsHaveOneName) {
  std::set<std::string> names;
  for (const Family& family : Families()) {
    for (const Step& step : family.steps) {
      EXPECT_TRUE(names.insert(NameOf(family, step)).second) << NameOf(family, step);
    }
  }
}

}  // namespace
}  // namespace tessera::card
