// SPDX-License-Identifier: Apache-2.0
// The kinds of devices a resource can be made of. A new kind costs one file like kind_dummy.cc, its
// struct in Resource::kind, and one line in Kinds(). Immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "config/findings.h"
#include "config/schema.h"

namespace tessera::config {

struct Kind {
  // Its section in a resource; the name of the section is the name of the kind.
  Key section;
  // Fills in what was left out and has a default that depends on other keys.
  void (*complete)(Resource& resource);
  // Reports what the table cannot express. `index` is the resource's; `path` is the section's.
  void (*check)(const Config& config, size_t index, const std::string& path, Findings& findings);
};

const std::vector<Kind>& Kinds();
// The kind of config.resources[index].
const Kind& KindOf(const Config& config, size_t index);

Kind DummyKind();
Kind FilesKind();

}  // namespace tessera::config
