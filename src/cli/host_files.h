// SPDX-License-Identifier: Apache-2.0
// Looks at files by their paths on the host. This process may be on the host, or in a pod that has
// only some mounts of it. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/kind.h"

namespace tessera::cli {

class HostFiles {
 public:
  // Whether a path of this process is the host's; in a pod, below a mount.
  using IsHosts = std::function<bool(const std::string& path)>;

  // `trees`: host directories that are at another path here. `is_hosts`: empty: all paths are.
  explicit HostFiles(std::vector<HostTree> trees = {}, IsHosts is_hosts = {})
      : trees_(std::move(trees)), is_hosts_(std::move(is_hosts)) {}
  // For this process: on the host or in a pod.
  static HostFiles Here(std::vector<HostTree> trees);

  enum class State : uint8_t { kThere, kMissing, kUnseen };
  struct Found {
    State state = State::kUnseen;
    std::string path{};  // in this process, if it is there
  };
  Found StateOf(const std::string& path) const;

 private:
  bool MayBeSeen(const std::string& path) const;

  const std::vector<HostTree> trees_;
  const IsHosts is_hosts_;
};

}  // namespace tessera::cli
