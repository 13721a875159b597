// SPDX-License-Identifier: Apache-2.0
// Changes to an object's labels and annotations, as a JSON merge patch (PatchType::kMerge): of a
// pod, a node or anything else. Pure; plain data; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "json/json.h"
#include "kube/paths.h"

namespace tessera::kube {

struct MetadataPatch {
  using Changes = std::map<std::string, std::optional<std::string>>;  // nothing: it is taken away

  Changes labels{};
  Changes annotations{};
  // The version that they were decided on: kApiConflict where the object is another by now. Empty:
  // whatever it is.
  std::string resource_version{};
  // Of the object that is meant: kApiRejected where a new one has its name. Empty: any.
  std::string uid{};

  bool empty() const { return labels.empty() && annotations.empty(); }
  json::Object Json() const;
};

}  // namespace tessera::kube
