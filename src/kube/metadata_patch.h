// SPDX-License-Identifier: Apache-2.0
// Changes to the labels and annotations of any object, as a JSON merge patch (PatchType::kMerge).
// Pure. Plain data. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "json/json.h"
#include "kube/paths.h"

namespace tessera::kube {

struct MetadataPatch {
  using Changes = std::map<std::string, std::optional<std::string>>;  // nothing: remove the key

  Changes labels{};
  Changes annotations{};
  // The version on which the changes are based: kApiConflict if the object has changed. Empty: any
  // version.
  std::string resource_version{};
  // The object's UID: kApiRejected if another object has its name. Empty: any.
  std::string uid{};

  bool empty() const { return labels.empty() && annotations.empty(); }
  json::Object Json() const;
};

}  // namespace tessera::kube
