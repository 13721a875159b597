// SPDX-License-Identifier: Apache-2.0
#include "agent/grants_page.h"

#include <array>
#include <set>
#include <string>
#include <utility>

namespace tessera::agent {
namespace {

// Pod UID, container and resource.
using GrantKey = std::array<std::string, 3>;
// The first two are "" and NAMESPACE/NAME/CONTAINER while only kubelet's pod-resources API names
// it.
GrantKey KeyOf(const Holding& holding) {
  if (!holding.pod_uid.empty()) return {holding.pod_uid, holding.container, holding.resource};
  return {"", holding.pod_namespace + "/" + holding.pod + "/" + holding.container,
          holding.resource};
}

// The pod's name by kubelet, else by the API server.
void AddNames(const PodFacts& facts, const std::string& uid, const Holding* holding,
              json::Object& object) {
  std::string space = holding == nullptr ? "" : holding->pod_namespace;
  std::string name = holding == nullptr ? "" : holding->pod;
  if (name.empty()) {
    if (const PodPtr pod = facts.context.pods.Find(uid); pod != nullptr) {
      space = pod->pod_namespace;
      name = pod->name;
    }
  }
  object["namespace"] = space;
  object["pod"] = name;
}

std::string_view DivisionOf(const ServedResources& resources, const std::string& resource) {
  const auto found = resources.find(resource);
  return found == resources.end() ? "" : DivisionName(found->second->policy().division);
}

json::Array Directories(const ServedResources& resources) {
  std::set<std::string> directories;
  for (const auto& [name, resource] : resources) {
    const auto& fractions = resource->resource().rendering.fractions;
    if (fractions) directories.insert(fractions->directory);
  }
  return json::Array(directories.begin(), directories.end());
}

}  // namespace

json::Value GrantsPage(const PodFacts& facts, const ServedResources& resources, bool released) {
  std::map<GrantKey, const Holding*> holdings;
  for (const Holding& holding : facts.ledger.holdings()) {
    holdings[KeyOf(holding)] = &holding;
  }
  json::Array containers;
  const auto add = [&](const GrantKey& key, const Holding* holding, json::Object object) {
    object["uid"] = key[0];
    object["container"] = holding == nullptr ? key[1] : holding->container;
    object["resource"] = key[2];
    object["division"] = DivisionOf(resources, key[2]);
    AddNames(facts, key[0], holding, object);
    containers.push_back(std::move(object));
  };
  for (const auto& [grant, record] : facts.grants) {
    const PodPtr pod = facts.context.pods.Find(record->pod_uid);
    if (pod != nullptr && HasEnded(*pod, record->container)) continue;
    const GrantKey key{record->pod_uid, record->container, record->resource};
    const auto found = holdings.find(key);
    const Holding* holding = found == holdings.end() ? nullptr : found->second;
    if (holding != nullptr) holdings.erase(found);
    add(key, holding,
        {{"grant", grant},
         {"directory", record->directory},
         {"devices", PartsPage(record->parts)}});
  }
  for (const auto& [key, holding] : holdings) {
    json::Array devices;
    for (const std::string& id : facts.ledger.DevicesOf(*holding)) {
      devices.push_back(json::Object{{"device", id}});
    }
    add(key, holding, {{"devices", std::move(devices)}});
  }
  json::Object pods;
  for (const PodPtr& pod : facts.context.pods.AllPods()) pods[pod->KubeletUid()] = pod->FullName();
  return json::Object{{"node", facts.node},
                      {"released", released},
                      {"pods", std::move(pods)},
                      {"directories", Directories(resources)},
                      {"containers", std::move(containers)}};
}

}  // namespace tessera::agent
