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
#include "base/clock.h"
#include "base/result.h"
#include "config/schema/findings.h"
#include "config/schema/key.h"
#include "os/files.h"
#include "os/loop.h"
#include "share/share.h"

namespace tessera {

class Backend;
class FoundDevices;
class Labeller;
class SamplerMaker;

// A directory of the host, and where this process sees it.
struct HostTree {
  std::string seen{};  // the path here; "": this process's root
  std::string host{};  // the path on the host; "": the host's root
  bool operator==(const HostTree&) const = default;
};

// Calls a gRPC method at a unix socket (kubelet/call_unix.h). Backends do not link gRPC, in which
// the thread sanitizer sees races that are none.
using CallUnix = Result<std::string> (*)(const std::string& socket_path, const std::string& method,
                                         const std::string& request, Duration timeout);

// What a backend may use of the agent. The loop outlives the backend.
struct Surroundings {
  std::string state_dir;
  os::Root root;  // where /dev and /sys are looked up
  os::Loop& loop;
  CallUnix call_unix = nullptr;           // null: no server is asked
  std::shared_ptr<FoundDevices> found{};  // of all resources
};

// Optional parts of a kind. Each is an interface that a kind implements or not. They are constants
// of its kind.cc; any thread.

// CDI documents that name the driver's files.
class CdiDescriber {
 public:
  // The CDI kind of resources that go by CDI and configure none. A string literal.
  virtual const char* CdiKind() const = 0;
  // The directories that the documents name files of; never empty. At least one must be a directory
  // of the host.
  virtual std::vector<std::string> Directories(const config::Resource& resource) const = 0;
  // Where this process sees the files that the documents name.
  virtual HostTree TreeOf(const os::Root& root, const config::Resource& resource) const = 0;

 protected:
  ~CdiDescriber() = default;
};

// Families of resources (config/schema/family.h). The backend of a family finds the devices of all
// its resources: the source of each device is the resource that it belongs to.
class FamilyFinder {
 public:
  // Whether the family may have a resource of this profile, spelled as in a resource's name.
  virtual bool MayHave(const config::Resource& family, std::string_view profile) const = 0;

 protected:
  ~FamilyFinder() = default;
};

// Labels of the node, also if no resource is of this kind.
class LabelMaker {
 public:
  // Waits for nothing.
  virtual std::unique_ptr<Labeller> Make(const config::Config& config) const = 0;

 protected:
  ~LabelMaker() = default;
};

// A condition without which the agent does not start, if the configuration demands it.
class Requirement {
 public:
  // Waits some seconds at most. An error ends the agent. Called once, before any resource is
  // served. The caller keeps the value until the resource is served.
  virtual Result<std::shared_ptr<const void>> Meet(const config::Resource& resource,
                                                   const Surroundings& at) const = 0;

 protected:
  ~Requirement() = default;
};

// Parts of the node that the devices need, such as a kernel module. The agent reports a missing one
// at its start, and serves the resource anyway.
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
  // Fills in keys that were left out, if their default depends on other keys, of any resource.
  // `index` is the resource's.
  void (*complete)(config::Config& config, size_t index);
  // Reports mistakes that the table of keys cannot express. `index` is the resource's; `path` is
  // the section's.
  void (*check)(const config::Config& config, size_t index, const std::string& path,
                config::Findings& findings);
  // The backend of a resource of this kind.
  std::shared_ptr<Backend> (*make)(const config::Resource& resource, const Surroundings& at);
  // Whether the container runtime reads the visible-devices variable. All resources of the kind
  // then have the same variable.
  bool runtime_reads_variable = false;
  // Whether an id names the same hardware in every resource. No device is then offered while
  // another resource may still have granted it.
  bool ids_are_of_hardware = false;
  // Whether CDI documents say more of its devices than their nodes and mounts. No document is
  // written before the backend has described them (Backend::DescribeForCdi).
  bool describes = false;
  // Whether its driver numbers errors (BackendEvents::CountDriverError). The kind then has a metric
  // of its own for them.
  bool numbers_errors = false;
  // Divisions that need the kind's help, such as a daemon or a limiter in containers.
  std::vector<Division> divisions{};
  // Whether this resource's backend has a preparer (preparer.h); its grants then need CDI. Null: no
  // resource's has. If a backend differs, no device of the resource is granted.
  bool (*prepares)(const config::Resource& resource) = nullptr;
  // The parts of a device that is made of others (DeviceTraits::parts), as its id says. Null: none
  // is.
  std::vector<DeviceKey> (*parts_of)(const config::Resource& resource,
                                     std::string_view id) = nullptr;
  // The optional parts; null: the kind does not have it.
  const CdiDescriber* cdi = nullptr;
  const FamilyFinder* families = nullptr;
  const LabelMaker* labels = nullptr;
  const SamplerMaker* sampler = nullptr;
  const Requirement* requirement = nullptr;
  const NodeUser* node = nullptr;
};

// All kinds that a program knows.
using Kinds = std::vector<Kind>;

// The kind of a resource. Null if the configuration was not checked.
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

// How a kind's section is chosen and recognised, by the struct that holds its keys.
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
