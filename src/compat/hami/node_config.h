// SPDX-License-Identifier: Apache-2.0
// HAMi's config.json: what single nodes have otherwise than device-config.yaml says. Keys are read
// in any spelling, as Go's JSON has it; of several entries for a node the later one wins, key by
// key; and what is zero, empty or false says nothing.
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

// Where HAMi's DaemonSet has it.
inline constexpr char kNodeConfigFile[] = "/config/config.json";

// What the file says of one node. Plain data; any thread.
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

// `name` stands for the file. An error where what it says of this node cannot be used; what it says
// of others is nothing to this one.
Result<NodeConfig> ReadNodeConfig(const std::string& name, std::string_view text,
                                  std::string_view node);

void Apply(const NodeConfig& config, Settings& settings, Findings& findings);
// What is set to what is left out, among findings.
inline constexpr char kFilter[] = "nvidia.filterdevices";

// The file while the program runs. One thread.
class NodeConfigFile {
 public:
  explicit NodeConfigFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // As it is now. Of one that is not good, or gone, `warnings` tells, and the last good one counts;
  // one that has never been there says nothing.
  NodeConfig Read(const std::string& node, std::vector<Problem>& warnings);

 private:
  const std::string path_;
  std::optional<NodeConfig> good_;
};

}  // namespace tessera::config::hami
