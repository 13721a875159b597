// SPDX-License-Identifier: Apache-2.0
// YAML files as a tree with line numbers, for all files that people write: the configuration and
// the demo's scenarios. No other header includes the YAML library.
//
//   Document document = Document::Parse("demo.yaml", text);
//   document.AllowKeys(document.root(), "", {"name", "steps"});
//   if (const Node* name = document.root().Find("name")) title = document.Text(*name, "name");
//   for (const Node& step : document.List(document.root().Find("steps"), "steps")) ...
//   if (!document.ok()) return Text(document.problems());
//
// Reading goes on after a problem, so that all are found. A reader that returns null has added a
// problem with the reason.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/schema/problem.h"

namespace tessera::config {

// One value of the file: null, a scalar, a list or a map. Lives as long as its document.
class Node {
 public:
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string scalar;          // as written, without quotes
  bool quoted = false;         // quoted "8" is text, plain 8 a number
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in the file's order; keys are unique
  int line = 0;                // from 1; a missing value has the line of its key
  int column = 0;

  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsMap() const { return kind == Kind::kMap; }
  bool IsNull() const { return kind == Kind::kNull; }
  // The value under `key`; nullptr: this is no map, or has no such key.
  const Node* Find(std::string_view key) const;
};

struct Node::Entry {
  Node key;  // always a scalar
  Node value;
};

// The error of a file that is a whole Kubernetes object, such as a ConfigMap, instead of its
// content. Empty: it is no object.
std::string ObjectTrouble(const Node& root);

// A parsed file and the problems found in it so far. Copyable; one thread at a time.
//
// `path` in the readers is the place for messages, such as "steps[2].after".
class Document {
 public:
  // Limits of the text's size, of nesting, and of nodes with aliases resolved. They exceed any file
  // that a person writes and bound the cost of a hostile one.
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr int kMaxDepth = 32;
  static constexpr size_t kMaxNodes = 100'000;

  // `name` stands for the file in messages. Invalid YAML, or a text over the limits, gives a
  // problem and an empty root(). A duplicate key is a problem (kConfigDuplicate), and its last
  // value counts. A second document is one too, and is not read, unless it is empty. "<<" merges
  // maps.
  static Document Parse(std::string name, std::string text);
  // Parses a file. A file that cannot be read or is too large gives a problem without a line.
  static Document Read(const std::string& path);

  const Node& root() const { return root_; }
  const std::string& name() const { return name_; }
  bool ok() const { return problems_.empty(); }
  const std::vector<Problem>& problems() const { return problems_; }

  // A problem at a node, with the line it stands on.
  Problem ProblemAt(Reason reason, const Node& at, std::string message,
                    std::string suggestion = "") const;
  // Adds ProblemAt to problems().
  void Report(Reason reason, const Node& at, std::string message, std::string suggestion = "");
  // Every key of `map` outside `known` gives a problem that names the closest one. A `map` that is
  // no map is a problem too; an empty value is an empty map.
  void AllowKeys(const Node& map, std::string_view path,
                 std::initializer_list<std::string_view> known);
  void AllowKeys(const Node& map, std::string_view path, std::span<const std::string> known);

  // Scalars. Null, with a problem: the node has another type or is out of range.
  std::optional<std::string> Text(const Node& node, std::string_view path);
  std::optional<bool> Bool(const Node& node, std::string_view path);
  std::optional<int64_t> Int(const Node& node, std::string_view path, int64_t min, int64_t max);
  std::optional<double> Number(const Node& node, std::string_view path);
  std::optional<Duration> Time(const Node& node, std::string_view path);  // "250ms", "10s", "5m"
  // One of `values`; a problem names the closest.
  std::optional<std::string> OneOf(const Node& node, std::string_view path,
                                   std::span<const std::string> values);
  // The items of a list; empty for nullptr and an empty value. Any other value that is no list is a
  // problem.
  std::span<const Node> List(const Node* node, std::string_view path);

 private:
  bool IsTabIndented(int line) const;

  std::string name_;
  std::vector<std::string> lines_;  // for excerpts
  Node root_;
  std::vector<Problem> problems_;
};

// The text of a configuration file. Of a file that is too large, just enough to show that.
Result<std::string> ReadText(const std::string& path);

}  // namespace tessera::config
