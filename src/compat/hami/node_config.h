// SPDX-License-Identifier: Apache-2.0
// HAMi's config.json: the settings of single nodes that differ from device-config.yaml. Keys match
// in any case, as in Go's JSON. Of several entries for a node the later one wins, key by key. A
// zero, empty or false value counts as unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compat/hami/options.h"
#include "compat/hami/settings.h"
#include "config/schema/findings.h"
#include "config/schema/problem.h"

namespace tessera::config::hami {

// The path in HAMi's DaemonSet.
inline constexpr char kNodeConfigFile[] = "/config/config.json";

// One node's settings in the file. Plain data; any thread.
struct NodeConfig {
  struct Value {
    const Option* option = nullptr;
    std::string text{};
    std::string origin{};  // "config.json, nodeconfig[1]"
    bool operator==(const Value&) const = default;
  };
  std::vector<Value> values{};
  // GPUs that are left out.
  std::vector<std::string> uuids{};
  std::vector<int64_t> indices{};
  std::string filter_origin{};
  bool operator==(const NodeConfig&) const = default;
};

// `name` stands for the file in messages. An error if the settings of this node cannot be used;
// those of other nodes are ignored.
Result<NodeConfig> ReadNodeConfig(const std::string& name, std::string_view text,
                                  std::string_view node);

void Apply(const NodeConfig& config, Settings& settings, Findings& findings);
// The path of the left-out GPUs in findings.
inline constexpr char kFilter[] = "nvidia.filterdevices";

// The file while the program runs. One thread.
class NodeConfigFile {
 public:
  explicit NodeConfigFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // The present settings. If the file is bad or gone, the last good one counts, with a warning. A
  // file that was never there gives no settings.
  NodeConfig Read(const std::string& node, std::vector<Problem>& warnings);

 private:
  const std::string path_;
  std::optional<NodeConfig> good_;
};

}  // namespace tessera::config::hami
