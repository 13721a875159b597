// SPDX-License-Identifier: Apache-2.0
#include "agent/backends.h"

#include <variant>

#include "backend/dummy/dummy.h"
#include "backend/file/file.h"

namespace tessera::agent {
namespace {

// What backends may need of the rest.
struct Surroundings {
  const std::string& resource;
  const std::string& state_dir;
  os::Root root;
  os::Loop& loop;
};

// One line a kind.
struct Make {
  const Surroundings& at;
  std::shared_ptr<Backend> operator()(const DummyConfig& kind) const {
    return std::make_shared<DummyBackend>(at.resource, kind, at.state_dir, at.loop, SystemClock());
  }
  std::shared_ptr<Backend> operator()(const FileConfig& kind) const {
    return std::make_shared<FileBackend>(at.resource, kind, at.root, at.loop);
  }
};

}  // namespace

std::shared_ptr<Backend> MakeBackend(const config::Resource& resource, const config::Config& config,
                                     os::Loop& loop) {
  Surroundings at{resource.name, config.state_dir, os::Root(config.root_prefix), loop};
  return std::visit(Make{at}, resource.kind);
}

}  // namespace tessera::agent
