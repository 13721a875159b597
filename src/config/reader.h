// SPDX-License-Identifier: Apache-2.0
// Reads a file by the schema and stores its values. One thread.
#pragma once

#include <string>

#include "config/schema.h"
#include "config/schema/findings.h"

namespace tessera::config {

class Reader {
 public:
  Reader(const Schema& schema, Config& config, Findings& findings, const Document& document)
      : schema_(schema), config_(config), findings_(findings), document_(document) {}

  // Reads the whole file. A value that cannot be used is reported and keeps its default.
  void ReadAll();

 private:
  // A section or list item. `at` has its positions in the lists above, `depth` their number.
  struct Place {
    std::string path;
    At at{};
    size_t depth = 0;
  };

  // False: the file has another version, so further reading would only confuse.
  bool CheckVersion(const Node& root);
  void ReadSection(const Key& section, const Node& node, const Place& place);
  void ReadKey(const Key& key, const Node& node, const Place& parent);
  void ReadList(const Key& key, const Node& node, const Place& place);
  // False, with a report: there are more items than `list` may have.
  bool Fits(const Key& list, const Node& node, const std::string& path);
  void ReadScalar(const Key& key, const Node& node, const Place& place);
  // Reads each item of a short form as its long form.
  void Expand(const Key& key, const Node& node, const Place& parent);
  void ExpandItem(const Key& section, std::string_view rest, const Node& item, Place place);

  void Report(Reason reason, const Node& at, std::string message, std::string suggestion = "");
  void ReportKind(const Node& node, const std::string& path, const std::string& wanted);
  void ReportUnknown(const Key& section, const Node& name, const std::string& path);

  const Schema& schema_;
  Config& config_;
  Findings& findings_;
  const Document& document_;
};

}  // namespace tessera::config
