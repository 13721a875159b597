// SPDX-License-Identifier: Apache-2.0
// What scans have found for each resource, for kinds whose devices are made of others'. The agent
// puts it in; backends read it. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "config/schema/config.h"
#include "device/inventory.h"
#include "grant/cdi_document.h"

namespace tessera {

class FoundDevices {
 public:
  // How a resource gives its devices to containers.
  struct Terms {
    std::string variable{};  // the visible-devices variable; empty: none
    int shares = 1;          // of each device
    // Those that a container may hold whole, whatever `shares` says.
    std::set<std::string, std::less<>> whole{};  // ids
    // What CDI documents say of them (Backend::DescribeForCdi); null: their nodes and mounts.
    std::shared_ptr<const cdi::Parts> cdi{};
    bool operator==(const Terms& other) const;
  };
  struct Found {
    std::vector<Device> devices{};  // present; with a defect, if they cannot be read
    Terms terms{};
  };

  // A scan of the resource has succeeded, and this is the inventory since then.
  void Put(const std::string& resource, Terms terms, InventoryPtr inventory);
  // The resource is served no more.
  void Drop(const std::string& resource);
  // The resource is served, and will be put in.
  void Expect(const std::string& resource);
  // A family of resources and those that its scan has found; nothing: it was not scanned yet.
  struct Family {
    config::Resource resource{};
    std::optional<std::set<std::string>> members{};
    std::function<bool(const std::string&)> may_have{};  // follows from `resource`
    bool operator==(const Family& other) const {
      return resource == other.resource && members == other.members;
    }
  };
  // All families. Of a resource that none of them has found, the node has no device.
  void SetFamilies(std::vector<Family> families);
  // Nothing: the resource was not scanned yet.
  std::optional<Found> Of(const std::string& resource) const;

  // The resource's devices that may be in use or were saved by an earlier process, by the last
  // inventory.
  std::vector<Device> Known(const std::string& resource) const;
  // The same of all resources, at this address on the PCI bus.
  std::vector<Device> KnownAt(const std::string& address) const;

  // Calls `changed` after each change of any resource, on the thread that made it and under a lock,
  // until the returned handle goes.
  using Handle = std::shared_ptr<void>;
  [[nodiscard]] Handle Watch(std::function<void()> changed);

 private:
  mutable Mutex mutex_;
  bool IsKnownToBeAbsent(const std::string& resource) const TESSERA_REQUIRES(mutex_);

  std::map<std::string, Terms> scanned_ TESSERA_GUARDED_BY(mutex_);  // by resource
  std::set<std::string> expected_ TESSERA_GUARDED_BY(mutex_);
  std::vector<Family> families_ TESSERA_GUARDED_BY(mutex_);
  InventoryPtr inventory_ TESSERA_GUARDED_BY(mutex_) = std::make_shared<Inventory>();
  std::map<int, std::function<void()>> watchers_ TESSERA_GUARDED_BY(mutex_);
  int next_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
