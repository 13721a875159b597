// SPDX-License-Identifier: Apache-2.0
// A kind of device: how it is configured, and the backend that serves it. Each folder of backend/
// describes its kind by one function, `Kind NAME::Describe()`, in its kind.cc. Immutable; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/node_needs.h"
#include "base/result.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"
#include "os/files.h"
#include "os/loop.h"
#include "share/share.h"

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

// What a kind may have besides devices: each is an interface of its own, which a kind implements or
// does not. They are constants of its kind.cc; any thread.

// CDI documents that say more than the devices' own nodes and mounts: none is written before the
// backend has described its devices (Backend::DescribeForCdi).
class CdiDescriber {
 public:
  // The kind of the CDI devices where resources go by CDI and none is configured. A literal.
  virtual const char* CdiKind() const = 0;
  // The directories of which the documents tell, one of which must be the host's for that.
  virtual std::vector<std::string> Directories(const config::Resource& resource) const = 0;
  // Where files that the documents name may be looked at.
  virtual HostTree TreeOf(const os::Root& root, const config::Resource& resource) const = 0;

 protected:
  ~CdiDescriber() = default;
};

// Families of resources (config/schema/family.h). The backend of a family finds what its resources
// are made of: the source of each device is the resource that it belongs to.
class FamilyFinder {
 public:
  // Whether the family may have a resource of this profile, as it stands in a resource's name.
  virtual bool MayHave(const config::Resource& family, std::string_view profile) const = 0;

 protected:
  ~FamilyFinder() = default;
};

// Labels of the node, whether or not a resource is of the kind.
class LabelMaker {
 public:
  // Waits for nothing.
  virtual std::unique_ptr<Labeller> Make(const config::Config& config) const = 0;

 protected:
  ~LabelMaker() = default;
};

// Something that the agent may not start without, where the configuration says so.
class Requirement {
 public:
  // An error ends the agent. Called once, before anything is served; may take some seconds. The
  // caller keeps the value until the resource is served.
  virtual Result<std::shared_ptr<const void>> Meet(const config::Resource& resource,
                                                   const Surroundings& at) const = 0;

 protected:
  ~Requirement() = default;
};

// Parts of the node that the devices are of no use without, such as a module of the kernel: what is
// missing is said when the agent starts, which serves the resource all the same.
class NodeUser {
 public:
  virtual std::vector<NodeNeed> NeedsOf(const config::Resource& resource) const = 0;

 protected:
  ~NodeUser() = default;
};

struct Kind {
  // Its section in a resource; the name of the section is the name of the kind.
  config::Key section;
  // Whether a section is of this kind (IsKind).
  bool (*is)(const config::KindConfig& kind);
  // Fills in what was left out and has a default that depends on other keys, of whatever resource.
  // `index` is the resource's.
  void (*complete)(config::Config& config, size_t index);
  // Reports what the table cannot express. `index` is the resource's; `path` is the section's.
  void (*check)(const config::Config& config, size_t index, const std::string& path,
                config::Findings& findings);
  // The backend of a resource of this kind.
  std::shared_ptr<Backend> (*make)(const config::Resource& resource, const Surroundings& at);
  // Whether the container runtime reads the visible-devices variable: then all resources of the
  // kind have the same one.
  bool runtime_reads_variable = false;
  // Whether an id names the same hardware whichever resource lists it: none is then offered while
  // another resource may still have granted it.
  bool ids_are_of_hardware = false;
  // Divisions that need the kind's help: a daemon, or a limiter in containers.
  std::vector<Division> divisions{};
  // Whether the backend of this resource has a preparer (preparer.h): then its grants need CDI.
  // Null: none has. Where a backend differs, nothing of the resource is granted.
  bool (*prepares)(const config::Resource& resource) = nullptr;
  // Null: the kind has none.
  const CdiDescriber* cdi = nullptr;
  const FamilyFinder* families = nullptr;
  const LabelMaker* labels = nullptr;
  const Requirement* requirement = nullptr;
  const NodeUser* node = nullptr;
};

// All that resources of a program may be of.
using Kinds = std::vector<Kind>;

// Null of a configuration that nobody checked.
inline const Kind* KindOf(const config::Resource& resource) {
  return resource.kind.kind();
}

inline bool Prepares(const Kind& kind, const config::Resource& resource) {
  return kind.prepares != nullptr && kind.prepares(resource);
}

template <class T>
bool IsKind(const config::KindConfig& kind) {
  return kind.As<T>() != nullptr;
}

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
