// SPDX-License-Identifier: Apache-2.0
#include "cli/cdi_generate.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backend/backend.h"
#include "backend/node_facts.h"
#include "config/schema/family.h"
#include "device/inventory.h"
#include "grant/grant.h"
#include "kinds/kinds.h"
#include "os/loop.h"
#include "share/share.h"

namespace tessera::cli {
namespace {

class NoEvents : public BackendEvents {
 public:
  void RescanSoon() override {}
  void Report(const DeviceKey&, Evidence) override {}
};

using Documents = std::map<std::string, std::vector<cdi::Document>>;  // by kind

Status Generate(const config::Config& config, const config::Resource& resource, os::Loop& loop,
                Documents& documents) {
  NoEvents events;
  const std::shared_ptr<Backend> backend = KindOf(resource)->make(
      resource,
      {.state_dir = config.state_dir, .root = os::Root(config.root_prefix), .loop = loop});
  TRY(backend->Start(events));
  Result<std::vector<Device>> devices = backend->Scan();
  const auto parts = devices ? backend->DescribeForCdi(*devices) : nullptr;
  backend->Stop();
  if (!devices) return Fail(devices.error());
  const InventoryPtr inventory = Merge(std::make_shared<Inventory>(), resource.name,
                                       *std::move(devices), [](const DeviceKey&) { return false; })
                                     .inventory;
  const Offer offer = Divide(resource.name, {}, *inventory, resource.name,
                             [](const Device&) -> std::optional<Error> { return std::nullopt; });
  documents[resource.rendering.cdi_kind].push_back(
      CdiDocument(offer, resource.rendering, parts.get()));
  if (parts == nullptr) return {};
  for (const cdi::Document& other : parts->others) documents[other.kind].push_back(other);
  return {};
}

// A family's resources, one for each profile that exists now.
std::vector<config::Resource> MembersOf(const config::Config& config,
                                        const config::Resource& family, os::Loop& loop) {
  NoEvents events;
  const std::shared_ptr<Backend> backend = KindOf(family)->make(
      family, {.state_dir = config.state_dir, .root = os::Root(config.root_prefix), .loop = loop});
  std::map<std::string, config::Resource> members;
  if (!backend->Start(events)) return {};
  const auto devices = backend->Scan();
  backend->Stop();
  for (const Device& device : devices.value_or(std::vector<Device>())) {
    members.try_emplace(device.key.source, config::Member(family, device.key.source));
  }
  std::vector<config::Resource> resources;
  for (auto& [name, member] : members) resources.push_back(std::move(member));
  return resources;
}

void DescribeNodes(const config::Config& config, cdi::Edits& edits) {
  for (cdi::Node& node : edits.nodes) {
    if (node.type.empty()) DescribeNode(config.root_prefix, node);
  }
}

}  // namespace

Result<std::vector<cdi::Document>> GenerateCdi(const config::Config& config) {
  os::Loop loop;
  Documents documents;
  for (const config::Resource& resource : config.resources) {
    if (!WritesCdi(resource.rendering)) continue;
    if (!config::IsFamily(resource.name)) {
      TRY(Generate(config, resource, loop, documents));
      continue;
    }
    for (const config::Resource& member : MembersOf(config, resource, loop)) {
      TRY(Generate(config, member, loop, documents));
    }
  }
  std::vector<cdi::Document> merged;
  for (const auto& [kind, of_kind] : documents) {
    std::vector<const cdi::Document*> all;
    for (const cdi::Document& document : of_kind) all.push_back(&document);
    cdi::Document one = cdi::Merge(all);
    DescribeNodes(config, one.edits);
    for (cdi::Device& device : one.devices) DescribeNodes(config, device.edits);
    one = cdi::Tidy(std::move(one));
    if (!one.devices.empty()) merged.push_back(std::move(one));
  }
  return merged;
}

}  // namespace tessera::cli
