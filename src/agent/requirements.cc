// SPDX-License-Identifier: Apache-2.0
#include "agent/requirements.h"

#include "backend/kind.h"
#include "base/log.h"
#include "cdi/container_runtime.h"

namespace tessera::agent {
namespace {

void TellOfMissing(const config::Config& config, const config::Resource& resource,
                   const NodeUser& user) {
  const os::Root root(config.root_prefix);
  const auto handlers = RuntimeHandlers(root, RememberedVersions(config.state_dir));
  for (const Error& missing : MissingOn(root, handlers, user.NeedsOf(resource))) {
    log::Warn("the node lacks what devices need", missing, {{"resource", resource.name}});
  }
}

}  // namespace

Result<Requirements> MeetRequirements(const config::Config& config, os::Loop& loop) {
  const Surroundings at{
      .state_dir = config.state_dir, .root = os::Root(config.root_prefix), .loop = loop};
  Requirements met;
  for (const config::Resource& resource : config.resources) {
    const Kind* kind = KindOf(resource);
    if (kind == nullptr) continue;
    if (kind->node != nullptr) TellOfMissing(config, resource, *kind->node);
    if (kind->requirement == nullptr) continue;
    met.push_back(TRY(kind->requirement->Meet(resource, at)));
  }
  return met;
}

}  // namespace tessera::agent
