// SPDX-License-Identifier: Apache-2.0
// The limiting library of virtual GPUs where the agent brings it: it is put into the directory that
// containers' mounts are of, under a name of its contents, so that no other version ever takes the
// place of one that a container has loaded. Containers that run keep the version they began with,
// and new grants name the newest.
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

// Puts the library at `source`, as this process sees it, into the directory, unless it is there.
// Returns its path on the host. kNotFound, kNotEnforced for what no loader takes. Any thread.
Result<std::string> InstallLibrary(const os::Root& root, const std::string& source,
                                   const std::string& directory);

// Whether the library there, a path on the host, is Tessera's own: no other has its mark.
bool IsOwnLibrary(const os::Root& root, const std::string& library);

// The library of HAMi's plugin in the directory, by that plugin's rule: "libvgpu.so.vVERSION" of
// the highest version, else "libvgpu.so", which is the answer where there is none, too. Never one
// of Tessera's under a name with a version. `known`: what was found before, which is not read
// again.
std::string FindLibrary(const os::Root& root, const std::string& directory,
                        const std::string& known = {});
// kNotEnforced where it is not there, with what lies beside it.
Status CheckLibrary(const os::Root& root, const FractionRules& fractions);
// The library that this node is to have by that rule is another one by now, and that is named from
// here on.
bool FindLibraryAnew(const os::Root& root, FractionRules& fractions);

// Of all resources that have one to be installed; their grants name what was. What could not be is
// logged, and named by no grant: those are refused until another configuration or start.
void InstallLibraries(config::Config& config);

// Removes all versions that were installed into the directories of these resources.
Status RemoveLibraries(const config::Config& config);

// Removes versions that were installed here and that nothing names any more. Any thread.
class OldLibraries {
 public:
  // After so long: an agent that goes while another one comes may yet grant of its own version.
  static constexpr Duration kUnnamed{600'000};

  // `checkpoint`: kubelet's file.
  OldLibraries(std::string checkpoint, const std::string& state_dir, os::Root root,
               const Clock& clock = SystemClock())
      : checkpoint_(std::move(checkpoint)),
        store_(state_dir),
        root_(std::move(root)),
        clock_(clock) {}

  // Below the directories of these, whose libraries are the newest, by path on the host.
  void Remove(const std::map<std::string, std::set<std::string>>& newest_by_directory);

 private:
  // What grants name, of kubelet's checkpoint and of our own records.
  Result<std::set<std::string>> Named();

  const std::string checkpoint_;
  BindingStore store_;
  const os::Root root_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Steady> unnamed_ TESSERA_GUARDED_BY(mutex_);  // by path, since when
};

}  // namespace tessera
