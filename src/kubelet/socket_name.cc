// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "os/unix_socket.h"

namespace tessera::kubelet {

std::string NewSocketPath(const std::string& directory, std::string_view prefix,
                          std::string_view resource) {
  std::random_device random;
  const std::string begin = fmt::format("{}/{}-", directory, prefix);
  const std::string end = fmt::format("-{:08x}{:08x}.sock", random(), random());
  const size_t taken = begin.size() + end.size();
  const size_t room = os::kMaxSocketPath > taken ? os::kMaxSocketPath - taken : 0;
  std::string slug(resource.substr(resource.size() - std::min(resource.size(), room)));
  std::replace(slug.begin(), slug.end(), '/', '_');
  return begin + slug + end;
}

bool IsSocketName(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.substr(prefix.size()).starts_with('-') &&
         name.ends_with(".sock");
}

}  // namespace tessera::kubelet
