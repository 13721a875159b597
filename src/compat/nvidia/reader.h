// SPDX-License-Identifier: Apache-2.0
// Reads the config file of NVIDIA's device plugin, version v1, in YAML or JSON. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/nvidia/options.h"
#include "config/schema/findings.h"
#include "config/schema/yaml.h"

namespace tessera::config::nvidia {

class Reader {
 public:
  Reader(const Document& document, Settings& settings, Findings& findings)
      : document_(document), settings_(settings), findings_(findings) {}

  // Reads the whole file. A value that cannot be used is reported and keeps its default. Unknown
  // keys give warnings. `shared`: another program reads the file too, so unknown top-level keys are
  // that program's.
  void ReadAll(bool shared = false);

 private:
  // A key of a map, with the reader of its value.
  struct Field {
    std::string name;
    std::function<void(const Node&, const std::string& path)> read;
  };
  // Whether "REPLICAS" is "replicas": Go accepts any case, except where the plugin decodes by
  // itself.
  enum class Spelling { kAny, kExact };

  void ReadMap(const Node& map, const std::string& path, Spelling spelling,
               const std::vector<Field>& fields, bool others = false);
  // The options whose keys are one step below `path`.
  std::vector<Field> OptionsIn(const std::string& path);
  void ReadOption(const Option& option, const Node& node);
  void ReadVersion(const Node& node);
  void ReadFlags(const Node& node, const std::string& path);
  void ReadPatterns(const Node& node, const std::string& path, std::vector<NamedPattern>& patterns);
  void ReadSharing(const Node& node, const std::string& path);
  void ReadReplication(const Node& node, const std::string& path,
                       std::optional<Replication>& replication);
  void ReadReplicated(const Node& node, const std::string& path, ReplicatedResource& resource);
  void ReadDevices(const Node& node, const std::string& path, ReplicatedDevices& devices);

  // Single values. Null, with a report: the node has another type. Where Go converts to text, `5`
  // and `off` are text too.
  std::optional<std::string> Text(const Node& node, const std::string& path,
                                  bool converted = false);
  std::optional<bool> Bool(const Node& node, const std::string& path);
  std::optional<Duration> Interval(const Node& node, const std::string& path);
  std::optional<int64_t> Int(const Node& node, const std::string& path);
  std::optional<std::string> Name(const Node& node, const std::string& path);
  // Whether all of the keys are there. A missing one is reported.
  bool HasAll(const Node& map, const std::string& path,
              std::initializer_list<std::string_view> keys);

  void Report(Reason reason, const Node& at, std::string message);
  void ReportType(const Node& node, const std::string& path, std::string_view wanted);

  const Document& document_;
  Settings& settings_;
  Findings& findings_;
};

}  // namespace tessera::config::nvidia
