// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/device_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "config/schema/findings.h"
#include "scheduler/settings/options.h"
#include "scheduler/settings/vendor_blocks.h"

namespace tessera::scheduler {
namespace {

using config::Document;
using config::Misfit;
using config::Node;
using config::Quoted;

constexpr char kNvidia[] = "nvidia";
// The blocks of HAMi's other vendors.
constexpr std::array<std::string_view, 12> kVendors = {
    "cambricon", "hygon",     "metax", "enflame", "mthreads", "iluvatars",
    "kunlun",    "awsneuron", "amd",   "vastai",  "biren",    "vnpus"};
// Keys of NVIDIA's device plugin, which reads the same file.
constexpr std::array<std::string_view, 4> kOfPlugin = {"version", "flags", "sharing", "imex"};
// Keys below `nvidia` that only device plugins read.
constexpr std::array<std::string_view, 10> kOfNodes = {
    "deviceSplitCount",  "deviceMemoryScaling", "deviceCoreScaling",
    "libCudaLogLevel",   "enableNumaTopology",  "preConfiguredDeviceMemory",
    "disableCoreLimit",  "migProfileAllowlist", "migGeometriesAllowlist",
    "knownMigGeometries"};

class DeviceConfigReader {
 public:
  DeviceConfigReader(const Document& document, Settings& settings, SourcesByKey& sources)
      : document_(document), settings_(settings), sources_(sources), findings_(document) {
    findings_.TolerateDuplicates();
  }

  DeviceConfig ReadAll() {
    for (const Node::Entry& entry : document_.root().entries) ReadVendor(entry);
    TellLeft();
    TakeVendors();
    if (document_.ok() && vendors_.empty()) {
      findings_.AddWarning({.reason = Reason::kConfigMissing,
                            .origin = document_.name(),
                            .message = "has no 'nvidia': its defaults hold for NVIDIA's GPUs"});
    }
    return {.errors = findings_.SortedErrors(), .warnings = findings_.warnings()};
  }

 private:
  void ReadVendor(const Node::Entry& entry) {
    const std::string& name = entry.key.scalar;
    if (name == kNvidia) {
      vendors_.emplace_back(kNvidia);
      return ReadNvidia(entry.value);
    }
    if (std::ranges::count(kOfPlugin, name) > 0) return;
    const std::vector<std::string> ours = {kNvidia};
    const auto meant = std::ranges::count(kVendors, name) > 0 ? std::nullopt : Closest(name, ours);
    if (meant) {
      TellUnknown(entry.key, fmt::format("unknown key {} has no effect", Quoted(name)), *meant);
    } else if (!entry.value.IsNull()) {
      ReadOther(name, entry.value);
    }
  }

  void ReadOther(const std::string& name, const Node& block) {
    if (std::string left = LeftOfBlock(name, block); !left.empty())
      left_.push_back(std::move(left));
    if (FamilyOfBlock(name).empty()) return;
    auto configs = ReadVendorBlock(name, block, document_, findings_);
    if (configs.empty()) return;
    vendors_.emplace_back(FamilyOfBlock(name));
    settings_.others.insert(settings_.others.end(), configs.begin(), configs.end());
  }

  void TellLeft() {
    if (left_.empty()) return;
    findings_.AddWarning(
        {.reason = Reason::kConfigUnsupported,
         .origin = document_.name(),
         .message = fmt::format("{}: these devices are not placed here; run HAMi's scheduler under "
                                "another name and set it as these pods' schedulerName",
                                Join(left_, ", "))});
  }

  void TakeVendors() {
    if (vendors_.empty()) return;
    settings_.vendors = vendors_;
    sources_.insert_or_assign("vendors", document_.name());
  }

  void ReadNvidia(const Node& block) {
    if (!block.IsMap() && !block.IsNull()) {
      findings_.Add(document_.ProblemAt(Reason::kConfigWrongType, block,
                                        fmt::format("{} takes a map of keys", kNvidia)));
    }
    for (const Node::Entry& entry : block.entries) {
      const std::string& name = entry.key.scalar;
      const auto option = std::ranges::find(Options(), name, &Option::hami);
      if (option == Options().end()) {
        TellMistyped(entry.key);
      } else if (!IsEmpty(entry.value)) {
        ReadOption(*option, entry.value);
      }
    }
  }

  void ReadOption(const Option& option, const Node& node) {
    const std::string path = fmt::format("{}.{}", kNvidia, option.hami);
    const std::optional<Misfit> misfit = StoreNode(option, node);
    if (!misfit) {
      sources_.insert_or_assign(std::string(option.key),
                                fmt::format("{}:{}", document_.name(), node.line));
      return;
    }
    const bool passed_over = misfit->reason == Reason::kConfigBadValue;
    config::Problem problem = document_.ProblemAt(
        misfit->reason, node,
        fmt::format("{} {}{}", path, misfit->message, passed_over ? "; this has no effect" : ""),
        misfit->suggestion);
    if (passed_over) {
      findings_.AddWarning(std::move(problem));
    } else {
      findings_.Add(std::move(problem));
    }
  }

  // A quoted number is a string.
  std::optional<Misfit> StoreNode(const Option& option, const Node& node) {
    const bool is_text = std::holds_alternative<std::string Settings::*>(option.member);
    if (node.IsScalar() && (is_text || !node.quoted)) {
      return StoreLoosely(option, node.scalar, settings_);
    }
    const std::string_view wanted =
        is_text ? "text" : (option.IsSwitch() ? "true or false" : "a number");
    const std::string what = node.IsScalar() ? "the text " + Quoted(node.scalar)
                             : node.IsMap()  ? "a map"
                                             : "a list";
    return Misfit{.message = fmt::format("takes {}, not {}", wanted, what)};
  }

  // HAMi ignores unknown keys. A key that resembles a known one gets a warning.
  void TellMistyped(const Node& key) {
    if (std::ranges::count(kOfNodes, key.scalar) > 0) return;
    std::vector<std::string> known(kOfNodes.begin(), kOfNodes.end());
    for (const Option& option : Options()) {
      if (!option.hami.empty()) known.emplace_back(option.hami);
    }
    const std::optional<std::string> meant = Closest(key.scalar, known);
    if (!meant) return;
    TellUnknown(key, fmt::format("unknown key {} in {} has no effect", Quoted(key.scalar), kNvidia),
                *meant);
  }

  void TellUnknown(const Node& key, std::string message, std::string meant) {
    findings_.AddWarning(
        document_.ProblemAt(Reason::kConfigUnknownKey, key, std::move(message), std::move(meant)));
  }

  const Document& document_;
  Settings& settings_;
  SourcesByKey& sources_;
  config::Findings findings_;
  std::vector<std::string> vendors_;  // vendors with a block
  std::vector<std::string> left_;     // resources that HAMi's scheduler still places
};

}  // namespace

bool IsDeviceConfig(const Document& document) {
  const Node& root = document.root();
  const Node* version = root.Find("version");
  if (version != nullptr && version->scalar.starts_with("tessera")) return false;
  return root.Find(kNvidia) != nullptr || std::ranges::any_of(kVendors, [&](std::string_view name) {
           return root.Find(name) != nullptr;
         });
}

DeviceConfig ReadDeviceConfig(const Document& document, Settings& settings, SourcesByKey& sources) {
  return DeviceConfigReader(document, settings, sources).ReadAll();
}

}  // namespace tessera::scheduler
