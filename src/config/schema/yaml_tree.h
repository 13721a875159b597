// SPDX-License-Identifier: Apache-2.0
// From YAML text to a tree of nodes: the one place where the YAML library is used.
#pragma once

#include <string>
#include <vector>

#include "config/schema/yaml.h"

namespace tessera::config {

struct YamlTree {
  struct Trouble {
    int line = 0;  // from 1
    int column = 0;
    Reason reason = Reason::kConfigSyntax;
    std::string text;  // the offending text, if it is one word
    std::string message;
  };
  Node root;  // empty when the text as a whole cannot be used
  std::vector<Trouble> troubles;
};

YamlTree BuildTree(const std::string& text);

}  // namespace tessera::config
