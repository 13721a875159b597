// SPDX-License-Identifier: Apache-2.0
// A kind of device: how it is configured, and the backend that serves it. Each folder of backend/
// describes its kind by one function, `Kind NAME::Describe()`, in its kind.cc. Immutable; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/findings.h"
#include "config/schema/key.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera {

class Backend;
class Labeller;

// A directory of the host that this process has elsewhere.
struct HostTree {
  std::string seen{};  // here; "": it is this process's own root
  std::string host{};  // on the host, likewise
  bool operator==(const HostTree&) const = default;
};

// What a backend may need of the agent. The loop outlives it.
struct Surroundings {
  std::string state_dir;
  os::Root root;  // where /dev and /sys are looked up
  os::Loop& loop;
};

struct Kind {
  // Its section in a resource; the name of the section is the name of the kind.
  config::Key section;
  // Fills in what was left out and has a default that depends on other keys, of whatever resource.
  // `index` is the resource's.
  void (*complete)(config::Config& config, size_t index);
  // Reports what the table cannot express. `index` is the resource's; `path` is the section's.
  void (*check)(const config::Config& config, size_t index, const std::string& path,
                config::Findings& findings);
  // The backend of a resource of this kind.
  std::shared_ptr<Backend> (*make)(const config::Resource& resource, const Surroundings& at);
  // Sees that what the agent may not start without is there, where the configuration says so: an
  // error ends it. Called once, before anything is served; may take some seconds. What it returns
  // is kept until the resource is served. Null: there is no such thing.
  Result<std::shared_ptr<const void>> (*require)(const config::Resource& resource,
                                                 const Surroundings& at) = nullptr;
  // Whether the container runtime reads the visible-devices variable: then all resources of the
  // kind have the same one.
  bool runtime_reads_variable = false;
  // Whether an id names the same hardware whichever resource lists it: none is then offered while
  // another resource may still have granted it.
  bool ids_are_of_hardware = false;
  // Whether its backend has more to say for CDI documents than the devices themselves: none is
  // written before it has.
  bool describes_for_cdi = false;
  // The kind of its CDI devices where its resources go by CDI and none is configured; null: they
  // do so only where they are told to.
  const char* cdi_kind = nullptr;
  // The directories of which those documents tell, one of which must be the host's for that. Null:
  // none.
  std::vector<std::string> (*cdi_tells_of)(const config::Resource& resource) = nullptr;
  // Where files that those documents name may be looked at. Null: by the host's own paths alone.
  HostTree (*cdi_tree)(const os::Root& root, const config::Resource& resource) = nullptr;
  // Whether a family of resources (config/schema/family.h) may have one of this profile, as it
  // stands in a resource's name; null: the kind has no families. The backend of a family finds
  // what its resources are made of: the source of each device is the resource that it belongs to.
  bool (*may_have)(const config::Resource& family, std::string_view profile) = nullptr;
  // What the kind has to say of the node in labels, whether or not a resource is of it; null:
  // nothing. Waits for nothing itself.
  std::unique_ptr<Labeller> (*label)(const config::Config& config) = nullptr;
  // Whether its devices can be divided by `policy: mps`.
  bool has_mps = false;
  // Likewise by `policy: vgpu`.
  bool has_vgpu = false;
};

// How a kind's section is chosen, and known again, by the struct that it is kept in.
template <class T>
config::ChoiceField KindChoice() {
  return {[](config::Config& config, const config::At& at) {
            config.resources[at[0]].kind = config::KindConfig::Of(T{});
          },
          [](const config::Config& config, const config::At& at) {
            return config.resources[at[0]].kind.As<T>() != nullptr;
          }};
}

// The struct of config.resources[at[0]], for binding keys to its members (config/schema/fields.h).
template <class T>
inline constexpr auto kKindConfig = [](auto& config, const config::At& at) -> auto& {
  return *config.resources[at[0]].kind.template As<T>();
};

}  // namespace tessera
