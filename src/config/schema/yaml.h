// SPDX-License-Identifier: Apache-2.0
// YAML files as a tree with line numbers, for everything in Tessera that a person writes by hand:
// the configuration and the demo's scenarios. The YAML library stays behind this header.
//
//   Document document = Document::Parse("demo.yaml", text);
//   document.AllowKeys(document.root(), "", {"name", "steps"});
//   if (const Node* name = document.root().Find("name")) title = document.Text(*name, "name");
//   for (const Node& step : document.List(document.root().Find("steps"), "steps")) ...
//   if (!document.ok()) return Text(document.problems());
//
// Reading goes on after a problem, so that all of them are found; a reader that got nothing has a
// problem in the list that says why.
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

// One value of the file: nothing, a scalar, a list or a map. Lives as long as its document.
class Node {
 public:
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string scalar;          // as written, without quotes
  bool quoted = false;         // "8" is text where 8 is a number
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in the file's order; keys are unique
  int line = 0;                // from 1; a missing value stands where its key does
  int column = 0;

  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsMap() const { return kind == Kind::kMap; }
  bool IsNull() const { return kind == Kind::kNull; }
  // The value under `key` of a map, or nullptr; nullptr too when this is no map.
  const Node* Find(std::string_view key) const;
};

struct Node::Entry {
  Node key;  // always a scalar
  Node value;
};

// What is wrong with a file that is a whole object of Kubernetes, such as a ConfigMap, instead of
// what stands in it; empty when it is none.
std::string ObjectTrouble(const Node& root);

// A parsed file and the problems found in it so far. Copyable; one thread at a time.
//
// `path` in the readers is the place for messages, such as "steps[2].after".
class Document {
 public:
  // Size of the text, levels of nesting, and nodes after aliases are resolved: enough for any file
  // a person writes, and a bound on what one made to do harm can cost.
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr int kMaxDepth = 32;
  static constexpr size_t kMaxNodes = 100'000;

  // `name` stands for the file in messages. What is not valid YAML or goes beyond the limits is in
  // problems(), and root() is empty. A key that stands twice in a map is a problem too, of which
  // the last value counts, and a second document, of which nothing is read: kConfigDuplicate. A
  // document with nothing in it is none. "<<" merges maps.
  static Document Parse(std::string name, std::string text);
  // The same from a file; a file that cannot be read or is too large is a problem without a line.
  static Document Read(const std::string& path);

  const Node& root() const { return root_; }
  const std::string& name() const { return name_; }
  bool ok() const { return problems_.empty(); }
  const std::vector<Problem>& problems() const { return problems_; }

  // A problem at a node, with the line it stands on.
  Problem ProblemAt(Reason reason, const Node& at, std::string message,
                    std::string suggestion = "") const;
  // The same, added to problems().
  void Report(Reason reason, const Node& at, std::string message, std::string suggestion = "");
  // Every key of `map` that is not among `known` becomes a problem that names the closest one.
  // `map` that is not a map is a problem too; an empty value is an empty map.
  void AllowKeys(const Node& map, std::string_view path,
                 std::initializer_list<std::string_view> known);
  void AllowKeys(const Node& map, std::string_view path, std::span<const std::string> known);

  // Scalars. Nothing, and a problem, when the node is not one of that type or out of range.
  std::optional<std::string> Text(const Node& node, std::string_view path);
  std::optional<bool> Bool(const Node& node, std::string_view path);
  std::optional<int64_t> Int(const Node& node, std::string_view path, int64_t min, int64_t max);
  std::optional<double> Number(const Node& node, std::string_view path);
  std::optional<Duration> Time(const Node& node, std::string_view path);  // "250ms", "10s", "5m"
  // One of `values`; a problem names the closest.
  std::optional<std::string> OneOf(const Node& node, std::string_view path,
                                   std::span<const std::string> values);
  // The items of a list. Empty for nullptr and for an empty value; a problem for anything else
  // that is not a list.
  std::span<const Node> List(const Node* node, std::string_view path);

 private:
  bool IsTabIndented(int line) const;

  std::string name_;
  std::vector<std::string> lines_;  // for excerpts
  Node root_;
  std::vector<Problem> problems_;
};

// The text of a configuration file; of one that is too large, only so much as shows that.
Result<std::string> ReadText(const std::string& path);

}  // namespace tessera::config
