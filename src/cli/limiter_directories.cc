// SPDX-License-Identifier: Apache-2.0
#include "cli/limiter_directories.h"

namespace tessera::cli {

std::set<std::string> LimiterDirectories(const config::Config& config) {
  std::set<std::string> directories;
  for (const config::Resource& resource : config.resources) {
    if (resource.rendering.fractions) directories.insert(resource.rendering.fractions->directory);
  }
  if (directories.empty()) directories.insert("/usr/local/vgpu");
  return directories;
}

}  // namespace tessera::cli
