// SPDX-License-Identifier: Apache-2.0
// Makes the JSON of /inventory, /ledger, /explain and /cdi. Pure functions of the agent's current
// state. One thread: the loop's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/served_resource.h"
#include "binding/binding_store.h"
#include "fraction/grant_tally.h"
#include "json/json.h"
#include "node/node.h"

namespace tessera::agent {

struct View {
  const Node& node;
  const ServedResources& resources;
  const CdiDocuments& cdi;
  bool writer = false;                       // this instance writes the state
  const std::optional<Error>& ledger_error;  // why the last call to kubelet failed
  GrantedByResource granted = {};            // virtual GPUs
  BindingStore::Known grants = {};           // their binding records
  os::Root root = {};                        // the machine's
  bool checkpoint_unknown = false;           // kubelet's checkpoint has an unknown format
  std::string node_name;
  Steady now{};
  Wall wall_now{};
};

json::Value InventoryPage(const View& view);
json::Value LedgerPage(const View& view);
// One device, by the name that people use; all devices if `device` is empty.
Result<json::Value> ExplainPage(const View& view, const std::string& device);
// `trees` gives the path at which this process sees each host directory that a kind uses.
json::Value CdiPage(const View& view);

}  // namespace tessera::agent
