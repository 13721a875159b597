// SPDX-License-Identifier: Apache-2.0
// The limiting library of virtual GPUs, if the agent installs it. Its file is named after its
// contents, in the directory that containers' mounts come from, so no version ever replaces one
// that a container has loaded. Running containers keep their version; new grants name the newest.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "binding/binding_store.h"
#include "config/schema/config.h"
#include "os/files.h"

namespace tessera {

// Installs the library at `source`, a path of this process, into the directory, unless it is there.
// Returns its path on the host. kNotFound; kNotEnforced if no loader takes it. Any thread.
Result<std::string> InstallLibrary(const os::Root& root, const std::string& source,
                                   const std::string& directory);

// Whether the library at this host path is Tessera's own, by its mark.
bool IsOwnLibrary(const os::Root& root, const std::string& library);

// The library of HAMi's plugin in the directory, by that plugin's rule: "libvgpu.so.vVERSION" with
// the highest version, else "libvgpu.so", also if that is missing. Never one of Tessera's under a
// name with a version. `known`: the last result, which is not read again.
std::string FindLibrary(const os::Root& root, const std::string& directory,
                        const std::string& known = {});
// kNotEnforced if it is missing, with what lies beside it.
Status CheckLibrary(const os::Root& root, const FractionRules& fractions);
// Searches the library by that rule. True if it is another one now, which `fractions` names from
// here on.
bool FindLibraryAnew(const os::Root& root, FractionRules& fractions);

// Installs the libraries of all resources that have one to install; their grants name the result. A
// failure is logged, and the resource's grants are refused until another configuration or start.
void InstallLibraries(config::Config& config);

// Removes all versions that were installed into the directories of these resources.
Status RemoveLibraries(const config::Config& config);

// Removes installed versions that no grant names any more. Owned by GrantKeeper. Any thread.
class OldLibraries {
 public:
  // How long a version stays without a name: an agent that is being replaced may still grant its
  // own version.
  static constexpr Duration kUnnamed{600'000};

  // `checkpoint`: kubelet's file.
  OldLibraries(std::string checkpoint, const std::string& state_dir, os::Root root,
               const Clock& clock = SystemClock())
      : checkpoint_(std::move(checkpoint)),
        store_(state_dir),
        root_(std::move(root)),
        clock_(clock) {}

  // Looks in the directories of these newest libraries, which stay. Paths are the host's.
  void Remove(const std::map<std::string, std::set<std::string>>& newest_by_directory);

 private:
  // The libraries that grants name, in kubelet's checkpoint and in the binding records.
  Result<std::set<std::string>> Named();

  const std::string checkpoint_;
  BindingStore store_;
  const os::Root root_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Steady> unnamed_ TESSERA_GUARDED_BY(mutex_);  // by path, since when
};

}  // namespace tessera
