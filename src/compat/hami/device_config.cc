// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/device_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "compat/hami/options.h"
#include "compat/nvidia/scalars.h"

namespace tessera::config::hami {
namespace {

constexpr char kSection[] = "nvidia";

// Keys of HAMi's webhook and scheduler, and of older versions.
constexpr std::array<std::string_view, 7> kOfOthers = {
    "resourcePriorityName", "overwriteEnv",           "defaultGPUNum",     "runtimeClassName",
    "migProfileAllowlist",  "migGeometriesAllowlist", "knownMigGeometries"};

// The value as a flag's text; null: it has another type.
std::optional<std::string> TextOf(const Option& option, const Node& node) {
  if (!node.IsScalar()) return std::nullopt;
  if (std::holds_alternative<std::string Settings::*>(option.member)) return node.scalar;
  if (node.quoted) return std::nullopt;
  if (!std::holds_alternative<bool Settings::*>(option.member)) return node.scalar;
  const std::optional<bool> truth = nvidia::Truth(node.scalar);
  if (!truth) return std::nullopt;
  return *truth ? "true" : "false";
}

std::string_view Wanted(const Option& option) {
  if (std::holds_alternative<std::string Settings::*>(option.member)) return "text";
  if (std::holds_alternative<bool Settings::*>(option.member)) return "true or false";
  return "a number";
}

class Reader {
 public:
  Reader(const Document& document, Settings& settings, Findings& findings)
      : document_(document), settings_(settings), findings_(findings) {}

  void Read(const Node& section) {
    findings_.SetInFile(kSection, section);
    for (const Node::Entry& entry : section.entries) {
      const std::string& name = entry.key.scalar;
      const auto option = std::ranges::find_if(
          Options(), [&](const Option& each) { return each.in_file && each.name == name; });
      if (option != Options().end()) {
        // Charts write a key with no value if they were given none.
        const bool is_empty =
            entry.value.IsNull() || (entry.value.IsScalar() && Trim(entry.value.scalar).empty());
        if (!is_empty) ReadOption(*option, entry.value);
      } else if (std::ranges::count(kOfOthers, name) == 0) {
        TellUnknown(entry.key);
      }
    }
  }

 private:
  void ReadOption(const Option& option, const Node& node) {
    const std::optional<std::string> text = TextOf(option, node);
    const std::optional<Misfit> misfit =
        text ? SetText(option, *text, settings_)
             : Misfit{.message =
                          fmt::format("takes {}, not {}", Wanted(option), nvidia::Described(node))};
    if (const auto passed_over = misfit ? WithoutEffect(option, *misfit) : std::nullopt) {
      findings_.AddWarning(document_.ProblemAt(misfit->reason, node, *passed_over));
      return;
    }
    findings_.SetInFile(option.Path(), node, !misfit);
    if (misfit) {
      findings_.Report(misfit->reason, option.Path(), misfit->message, misfit->suggestion);
    }
  }

  // HAMi ignores an unknown key; one close to a known key gives a warning.
  void TellUnknown(const Node& key) {
    std::vector<std::string> names;
    for (const Option& option : Options()) {
      if (option.in_file) names.emplace_back(option.name);
    }
    const std::optional<std::string> closest = Closest(key.scalar, names);
    if (!closest) return;
    findings_.AddWarning(document_.ProblemAt(
        Reason::kConfigUnknownKey, key,
        fmt::format("unknown key {} in {} has no effect", Quoted(key.scalar), kSection), *closest));
  }

  const Document& document_;
  Settings& settings_;
  Findings& findings_;
};

}  // namespace

bool IsDeviceConfig(const Document& document) {
  const Node* section = document.root().Find(kSection);
  return section != nullptr && (section->IsMap() || section->IsNull());
}

void ReadDeviceConfig(const Document& document, Settings& settings, Findings& findings) {
  const Node* section = document.root().Find(kSection);
  if (section != nullptr) Reader(document, settings, findings).Read(*section);
}

}  // namespace tessera::config::hami
