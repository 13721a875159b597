// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/vendor_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "config/schema/checks.h"
#include "config/schema/scalar.h"

namespace tessera::scheduler {
namespace {

using config::Document;
using config::Node;
using hami::VendorConfig;

struct Block {
  std::string_view name;
  std::string_view family;
};
constexpr std::array<Block, hami::kFamilies.size()> kBlocks = {{{"amd", "amd"},
                                                                {"vnpus", "ascend"},
                                                                {"biren", "biren"},
                                                                {"hygon", "hygon"},
                                                                {"iluvatars", "iluvatar"},
                                                                {"vastai", "vastai"},
                                                                {"kunlun", "xpu"}}};

constexpr std::string_view kWholeXpu = "kunlunxin.com/xpu";

// Null if the key is missing or empty.
const Node* ValueOf(const Node& map, std::string_view key) {
  const Node* value = map.Find(key);
  return value == nullptr || IsEmpty(*value) ? nullptr : value;
}

class BlockReader {
 public:
  BlockReader(std::string path, const Document& document, config::Findings& findings)
      : path_(std::move(path)), document_(document), findings_(findings) {}

  void ReadText(const Node& map, std::string_view key, std::string& text) {
    const Node* value = ValueOf(map, key);
    if (value == nullptr) return;
    if (!value->IsScalar()) return Tell(*value, key, "takes text");
    text = value->scalar;
  }
  void ReadResource(const Node& map, std::string_view key, std::string& name) {
    ReadText(map, key, name);
    const Node* value = ValueOf(map, key);
    if (value == nullptr || !value->IsScalar()) return;
    if (const auto misfit = config::CheckResourceName(name)) Tell(*value, key, misfit->message);
  }
  void ReadFlag(const Node& map, std::string_view key, bool& flag) {
    const Node* value = ValueOf(map, key);
    if (value == nullptr) return;
    const auto read = config::ReadBool(value->scalar);
    if (!value->IsScalar() || !read) return Tell(*value, key, "takes true or false");
    flag = *read;
  }
  // Charts may write 1e+06.
  void ReadAmount(const Node& map, std::string_view key, int32_t& amount) {
    const Node* value = ValueOf(map, key);
    if (value == nullptr) return;
    const auto read = config::ReadNumber(value->scalar);
    const bool good = value->IsScalar() && read && std::trunc(*read) == *read && *read >= 0 &&
                      *read <= std::numeric_limits<int32_t>::max();
    if (!good) return Tell(*value, key, "takes a whole number from 0 to 2147483647");
    amount = static_cast<int32_t>(*read);
  }
  std::span<const Node> Items(const Node* list, std::string_view key) {
    if (list == nullptr || IsEmpty(*list)) return {};
    if (!list->IsSequence()) {
      Tell(*list, key, "takes a list");
      return {};
    }
    return list->items;
  }
  void Tell(const Node& at, std::string_view key, std::string_view message) {
    findings_.Add(document_.ProblemAt(Reason::kConfigBadValue, at,
                                      fmt::format("{}.{} {}", path_, key, message)));
  }

 private:
  const std::string path_;
  const Document& document_;
  config::Findings& findings_;
};

// A word is part of annotation keys, so it must be valid there.
std::string WordIn(const Node& item, BlockReader& reader) {
  std::string word;
  reader.ReadText(item, "commonWord", word);
  if (word.empty()) {
    reader.Tell(item, "commonWord", "is missing");
  } else if (config::CheckResourceName("hami.io/" + word)) {
    reader.Tell(*item.Find("commonWord"), "commonWord", "is not a word such as Ascend910B3");
  }
  return word;
}

// The chart's configuration for the word. An unknown word has only the family.
VendorConfig UsualOf(std::string_view family, const std::string& word) {
  const auto usual = hami::UsualConfigs(family);
  const auto found = std::ranges::find(usual, word, &VendorConfig::word);
  return found == usual.end() ? VendorConfig{.family = std::string(family), .word = word} : *found;
}

std::vector<hami::ChipTemplate> TemplatesIn(const Node& item, BlockReader& reader) {
  std::vector<hami::ChipTemplate> templates;
  for (const Node& node : reader.Items(item.Find("templates"), "templates")) {
    hami::ChipTemplate one;
    reader.ReadText(node, "name", one.name);
    reader.ReadAmount(node, "memory", one.memory);
    if (one.name.empty() || one.memory == 0) reader.Tell(node, "templates", "need name and memory");
    templates.push_back(std::move(one));
  }
  return templates;
}

std::vector<VendorConfig> ReadChips(const Node& block, BlockReader& reader) {
  std::vector<VendorConfig> chips;
  // Up to HAMi 2.9 the block was the list.
  const Node* list = block.IsMap() ? block.Find("configs") : &block;
  for (const Node& item : reader.Items(list, "configs")) {
    VendorConfig chip = UsualOf("ascend", WordIn(item, reader));
    reader.ReadResource(item, "resourceName", chip.count);
    reader.ReadResource(item, "resourceMemoryName", chip.memory);
    reader.ReadResource(item, "resourceCoreName", chip.cores);
    reader.ReadAmount(item, "memoryAllocatable", chip.allocatable);
    reader.ReadAmount(item, "memoryCapacity", chip.capacity);
    reader.ReadAmount(item, "memoryFactor", chip.memory_factor);
    reader.ReadText(item, "runtimeClassName", chip.runtime_class);
    reader.ReadFlag(item, "overwriteEnv", chip.hides_devices);
    reader.ReadFlag(item, "superPod", chip.pairs);
    if (item.Find("templates") != nullptr) chip.templates = TemplatesIn(item, reader);
    if (chip.count.empty()) reader.Tell(item, "resourceName", "is missing");
    chips.push_back(std::move(chip));
  }
  return chips;
}

std::vector<VendorConfig> ReadModels(const Node& block, BlockReader& reader) {
  std::vector<VendorConfig> models;
  for (const Node& item : reader.Items(&block, "items")) {
    VendorConfig model = UsualOf("iluvatar", WordIn(item, reader));
    reader.ReadResource(item, "resourceCountName", model.count);
    reader.ReadResource(item, "resourceMemoryName", model.memory);
    reader.ReadResource(item, "resourceCoreName", model.cores);
    if (model.count.empty()) reader.Tell(item, "resourceCountName", "is missing");
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace

bool IsEmpty(const Node& node) {
  return node.IsNull() || (node.IsScalar() && Trim(node.scalar).empty());
}

std::string_view FamilyOfBlock(std::string_view name) {
  const auto found = std::ranges::find(kBlocks, name, &Block::name);
  return found == kBlocks.end() ? std::string_view() : found->family;
}

std::vector<VendorConfig> ReadVendorBlock(std::string_view name, const Node& block,
                                          const Document& document, config::Findings& findings) {
  if (block.IsNull()) return {};
  BlockReader reader{std::string(name), document, findings};
  const std::string_view family = FamilyOfBlock(name);
  if (family == "ascend") return ReadChips(block, reader);
  if (family == "iluvatar") return ReadModels(block, reader);
  if (!block.IsMap()) {
    findings.Add(document.ProblemAt(Reason::kConfigWrongType, block,
                                    fmt::format("{} takes a map of keys", name)));
    return {};
  }
  VendorConfig config = UsualOf(family, "");
  const bool xpu = family == "xpu";
  reader.ReadResource(block, xpu ? "resourceVCountName" : "resourceCountName", config.count);
  if (!config.memory.empty()) {
    reader.ReadResource(block, xpu ? "resourceVMemoryName" : "resourceMemoryName", config.memory);
    reader.ReadAmount(block, "memoryFactor", config.memory_factor);
  }
  if (!config.cores.empty()) reader.ReadResource(block, "resourceCoreName", config.cores);
  return {std::move(config)};
}

std::string LeftOfBlock(std::string_view name, const Node& block) {
  if (FamilyOfBlock(name).empty()) return Brief(name);
  if (FamilyOfBlock(name) != "xpu") return "";
  const Node* whole = ValueOf(block, "resourceCountName");
  return fmt::format("{} of {}", Brief(whole == nullptr ? kWholeXpu : whole->scalar), name);
}

}  // namespace tessera::scheduler
