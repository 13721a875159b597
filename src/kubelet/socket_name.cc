// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "os/unix_socket.h"

namespace tessera::kubelet {
namespace {

constexpr std::string_view kExtension = ".sock";
constexpr size_t kRandomDigits = 16;

}  // namespace

std::string NewSocketPath(const std::string& directory, std::string_view prefix,
                          std::string_view resource) {
  std::random_device random;
  const std::string begin = fmt::format("{}/{}-", directory, prefix);
  const std::string end = fmt::format("-{:08x}{:08x}{}", random(), random(), kExtension);
  const size_t taken = begin.size() + end.size();
  const size_t room = os::kMaxSocketPath > taken ? os::kMaxSocketPath - taken : 0;
  std::string slug(resource.substr(resource.size() - std::min(resource.size(), room)));
  std::replace(slug.begin(), slug.end(), '/', '_');
  return begin + slug + end;
}

bool IsSocketName(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kExtension)) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(kExtension.size());
  const size_t random = name.rfind('-');  // the hyphen after the prefix is never the last one
  return name.starts_with('-') && random != 0 && name.size() - random - 1 == kRandomDigits &&
         name.find_first_not_of("0123456789abcdef", random + 1) == std::string_view::npos;
}

}  // namespace tessera::kubelet
