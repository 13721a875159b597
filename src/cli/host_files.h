// SPDX-License-Identifier: Apache-2.0
// Files by their paths on the host, looked at from where this process is: on the host itself, or in
// a pod, which has no more of the host than is mounted into it. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/kind.h"

namespace tessera::cli {

class HostFiles {
 public:
  // Whether a path of this process is the host's: below a mount, in a pod.
  using IsHosts = std::function<bool(const std::string& path)>;

  // `trees`: directories of the host that are elsewhere here. `is_hosts`: empty where all is.
  explicit HostFiles(std::vector<HostTree> trees = {}, IsHosts is_hosts = {})
      : trees_(std::move(trees)), is_hosts_(std::move(is_hosts)) {}
  // As this process is placed.
  static HostFiles Here(std::vector<HostTree> trees);

  enum class State : uint8_t { kThere, kMissing, kUnseen };
  struct Found {
    State state = State::kUnseen;
    std::string path{};  // here, where it is there
  };
  Found StateOf(const std::string& path) const;

 private:
  bool MayBeSeen(const std::string& path) const;

  const std::vector<HostTree> trees_;
  const IsHosts is_hosts_;
};

}  // namespace tessera::cli
