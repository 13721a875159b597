// SPDX-License-Identifier: Apache-2.0
// What the agent shows: the JSON behind /inventory, /ledger, /explain and /cdi. Pure functions of
// what the agent knows at this moment.
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
  bool writer = false;                       // of the state
  const std::optional<Error>& ledger_error;  // why kubelet could not be asked
  GrantedByResource granted = {};            // of virtual GPUs
  BindingStore::Known grants = {};           // the same, each
  os::Root root = {};                        // of the machine
  bool checkpoint_unknown = false;           // kubelet's, by its shape
  std::string node_name;
  Steady now{};
  Wall wall_now{};
};

json::Value InventoryPage(const View& view);
json::Value LedgerPage(const View& view);
// One device, by its name as people write it, or all of them when empty.
Result<json::Value> ExplainPage(const View& view, const std::string& device);
// With where files that the documents name may be looked at from where the agent is.
json::Value CdiPage(const View& view);

}  // namespace tessera::agent
