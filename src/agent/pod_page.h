// SPDX-License-Identifier: Apache-2.0
// The page of one pod, for `tessera explain NAMESPACE/POD`: its scheduler, its containers'
// requests, holdings and grants, and its refusals. Reads memory only. Pure; one thread: the loop's.
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

// `name`: NAMESPACE/NAME. kNotFound if the agent does not know the pod; the message gives possible
// causes.
Result<json::Value> PodPage(const PodFacts& facts, const std::string& name);

// A grant's fractions: [{"device": "GPU-1", "memoryBytes": 1048576, "cores": 30}]. Of a device with
// units of compute time, "cores" is their number, and "units" has them: "0-29".
json::Array PartsPage(std::span<const Fraction> parts);

}  // namespace tessera::agent
