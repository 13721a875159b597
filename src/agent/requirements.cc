// SPDX-License-Identifier: Apache-2.0
#include "agent/requirements.h"

#include "kinds/kinds.h"

namespace tessera::agent {

Result<Requirements> MeetRequirements(const config::Config& config, os::Loop& loop) {
  const Surroundings at{
      .state_dir = config.state_dir, .root = os::Root(config.root_prefix), .loop = loop};
  Requirements met;
  for (const config::Resource& resource : config.resources) {
    const Kind* kind = KindOf(resource);
    if (kind == nullptr || kind->requirement == nullptr) continue;
    met.push_back(TRY(kind->requirement->Meet(resource, at)));
  }
  return met;
}

}  // namespace tessera::agent
