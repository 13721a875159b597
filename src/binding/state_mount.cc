// SPDX-License-Identifier: Apache-2.0
#include "binding/state_mount.h"

#include <fmt/core.h>

#include "os/files.h"
#include "os/process.h"

namespace tessera {

Error AboutStateMount(Error error, const std::string& directory) {
  std::string there = directory;
  while (!there.empty() && !os::Exists(there)) there.resize(there.rfind('/'));
  if (!os::RunsInPod() || !os::OnSameMount(there.empty() ? "/" : there, "/")) return error;
  return {Reason::kStateNotKept,
          fmt::format("{}: nothing is mounted at {}", error.message, directory)};
}

}  // namespace tessera
