// SPDX-License-Identifier: Apache-2.0
// What the agent knows of one pod, for `tessera explain NAMESPACE/POD`: who placed it, what its
// containers ask for, hold and were granted, and why one was refused. From memory alone; pure.
#pragma once

#include <set>
#include <string>

#include "binding/binding_store.h"
#include "fraction/bind_context.h"
#include "json/json.h"
#include "ledger/ledger.h"

namespace tessera::agent {

struct PodFacts {
  std::string node{};
  const Ledger& ledger;
  const BindContext& context;
  BindingStore::Known grants{};
  std::set<std::string> late{};  // resources whose grants are bound late
};

// By NAMESPACE/NAME. kNotFound where nothing is known of it, with why that may be.
Result<json::Value> PodPage(const PodFacts& facts, const std::string& name);

// The parts of a grant: [{"device": "GPU-1", "memoryBytes": 1048576, "cores": 30}].
json::Array PartsPage(std::span<const Fraction> parts);

}  // namespace tessera::agent
