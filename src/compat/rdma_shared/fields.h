// SPDX-License-Identifier: Apache-2.0
// Objects of a plugin's JSON file, as Go reads them: keys in any case, unknown keys without effect,
// null as if the key were absent. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/yaml.h"
#include "json/json.h"

namespace tessera::config::rdma_shared {

// A file while it is read.
struct File {
  Document& document;
  std::vector<Problem> warnings{};
  size_t entries = 0;  // of all selects so far
};

// Keeps no node: the document outlives it.
class Fields {
 public:
  // A `map` that is none is a problem. A key outside `known` gives a warning, and is not found.
  // `path` is its place.
  Fields(File& file, const Node& map, std::string path, const std::vector<std::string>& known);

  // Null: it is absent.
  const Node* Find(std::string_view name) const;
  // Its place: "configList[0].resourceName".
  std::string PathOf(std::string_view name) const;
  // A problem at the key, or at the object if it has no such key.
  void Report(std::string_view name, std::string message) const;
  void Warn(std::string_view name, std::string message) const;

  std::string Text(std::string_view name, std::string_view otherwise = "") const;
  bool Bool(std::string_view name) const;
  std::optional<int64_t> Int(std::string_view name, int64_t min, int64_t max) const;
  // Texts of a list. Hexadecimal numbers become lower case.
  enum class Form : bool { kAsTheyAre, kLower };
  std::vector<std::string> Texts(std::string_view name, Form form = Form::kAsTheyAre) const;

 private:
  File& file_;
  const Node& map_;
  const std::string path_;
  std::map<std::string, const Node*, std::less<>> values_;  // by lower case
};

// A resource's name by the plugins' rules, or a problem: "rdma/hca_a".
std::string NameIn(const Fields& fields, std::string_view default_prefix);

// The values of one key of ours, each of which a function may have.
struct Alternatives {
  std::string key{};
  std::vector<std::string> values{};
};
// Of a resource.
inline constexpr size_t kMostEntries = 1024;
inline constexpr std::string_view kTooManyEntries =
    "has too many combinations: a resource has at most 1024, a file 2048; use fewer values";
// Entries of `select` for all combinations: within a key one value, among keys all. A key without
// values is left out. Nothing: there are too many, with those of the file before it.
std::optional<json::Array> SelectOf(const std::vector<Alternatives>& all, File& file);

// The problem of an object that is a whole Kubernetes object; none of it is read then.
bool ReportObject(File& file);

}  // namespace tessera::config::rdma_shared
