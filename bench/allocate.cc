// SPDX-License-Identifier: Apache-2.0
// From ids to a grant: the work of Allocate without the wire.

#include "bench/compare.h"
#include "bench/node.h"
#include "grant/grant.h"

namespace tessera::bench {
namespace {

// Some devices out of 64. Baseline: a copy of the answer.
void AllocateOutOf64(benchmark::State& state) {
  const Offer offer = WholeOffer(64);
  const Rendering rendering{
      .strategies = {Strategy::kEnvvar}, .env = "DUMMY_VISIBLE_DEVICES", .cdi_kind = ""};
  std::vector<std::string> ids;
  for (int64_t n = 0; n < state.range(0); ++n) ids.push_back(offer.shares[n].id);
  const Result<Grant> grant = Allocate(offer, rendering, ids);
  if (!grant) return state.SkipWithError(grant.error().message.c_str());
  Compare(
      state, [&] { benchmark::DoNotOptimize(Allocate(offer, rendering, ids)); },
      [&] { benchmark::DoNotOptimize(Grant(*grant)); });
}
BENCHMARK(AllocateOutOf64)->Arg(1)->Arg(2)->Arg(8)->Arg(64);

}  // namespace
}  // namespace tessera::bench
