// SPDX-License-Identifier: Apache-2.0
// YAML. Any text is read whole, or refused with a message.

#include "config/schema/yaml.h"

#include "test/fuzz/fuzz.h"

using tessera::config::Document;
using tessera::config::Node;

namespace {

void Walk(Document& document, const Node& node) {
  document.Text(node, "text");
  document.Bool(node, "bool");
  document.Int(node, "int", -5, 5'000'000'000);
  document.Number(node, "number");
  document.Time(node, "time");
  document.AllowKeys(node, "map", {"name", "steps", "resources"});
  for (const Node& item : document.List(&node, "list")) Walk(document, item);
  for (const Node::Entry& entry : node.entries) Walk(document, entry.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Document document = Document::Parse("any.yaml", std::string(tessera::fuzz::Text(data, size)));
  if (!document.ok()) return 0;
  const Node root = document.root();
  Walk(document, root);
  for (const auto& problem : document.problems()) {
    tessera::fuzz::Require(!problem.message.empty(), "a problem says what it is");
  }
  return 0;
}
