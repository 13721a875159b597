// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/own_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "scheduler/settings/device_config.h"
#include "scheduler/settings/options.h"

namespace tessera::scheduler {
namespace {

using config::Document;
using config::Node;

// The distinct keys directly below a section. The section is "" or ends with a dot.
std::vector<std::string> KeysBelow(const std::string& section) {
  std::vector<std::string> keys;
  if (section.empty()) keys.emplace_back("version");
  for (const Option& option : Options()) {
    if (option.key.empty() || !option.key.starts_with(section)) continue;
    const std::string_view rest = option.key.substr(section.size());
    std::string key(rest.substr(0, rest.find('.')));
    if (std::ranges::count(keys, key) == 0) keys.push_back(std::move(key));
  }
  return keys;
}

class OwnFileReader {
 public:
  OwnFileReader(Document& document, Settings& settings, SourcesByKey& sources)
      : document_(document), settings_(settings), sources_(sources) {}

  void ReadAll() {
    const Node& root = document_.root();
    if (!document_.ok() && root.IsNull()) return;
    const std::string trouble = config::ObjectTrouble(root);
    if (!trouble.empty()) return document_.Report(Reason::kConfigVersion, root, trouble);
    if (CheckVersion(root)) ReadSection(root, "");
  }

 private:
  bool CheckVersion(const Node& root) {
    const Node* version = root.Find("version");
    if (version != nullptr && version->IsScalar() && version->scalar == kVersion) return true;
    Node top;
    top.line = top.column = 1;
    if (IsDeviceConfig(document_)) {
      document_.Report(Reason::kConfigVersion, root,
                       "this is HAMi's device-config.yaml: name it by --device-config-file");
    } else if (version == nullptr) {
      document_.Report(Reason::kConfigVersion, root.line > 0 ? root : top,
                       fmt::format("the file needs 'version: {}' to be the scheduler's", kVersion));
    } else {
      document_.Report(Reason::kConfigVersion, *version,
                       fmt::format("the scheduler reads files of version '{}'", kVersion));
    }
    return false;
  }

  void ReadSection(const Node& section, const std::string& prefix) {
    const std::string path = prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1);
    const std::vector<std::string> known = KeysBelow(prefix);
    document_.AllowKeys(section, path, known);
    for (const Node::Entry& entry : section.entries) {
      const std::string& name = entry.key.scalar;
      if (std::ranges::count(known, name) == 0) continue;
      const std::string key = prefix + name;
      const auto option = std::ranges::find(Options(), key, &Option::key);
      if (option != Options().end()) {
        ReadOption(*option, entry.value);
      } else if (key != "version") {
        ReadSection(entry.value, key + ".");
      }
    }
  }

  void ReadOption(const Option& option, const Node& node) {
    const std::optional<std::vector<std::string>> texts = TextsIn(option, node);
    if (!texts) return;
    // An explicit empty text counts as unset if the default depends on other settings.
    const bool unset = texts->size() == 1 && texts->front().empty() && !option.usual.empty();
    const auto misfit = unset ? std::nullopt : Store(option, *texts, settings_);
    if (misfit) {
      document_.Report(misfit->reason, node, fmt::format("{} {}", option.key, misfit->message),
                       misfit->suggestion);
    } else if (!unset) {
      sources_.insert_or_assign(std::string(option.key),
                                fmt::format("{}:{}", document_.name(), node.line));
    }
  }

  // The node as texts for Store. Empty, with a problem, if the node has another type.
  std::optional<std::vector<std::string>> TextsIn(const Option& option, const Node& node) {
    const std::string path(option.key);
    const auto one = [](std::optional<std::string> text) {
      return text ? std::optional(std::vector{*std::move(text)}) : std::nullopt;
    };
    if (option.IsList()) return ItemsIn(node, path);
    if (option.IsSwitch()) {
      const std::optional<bool> value = document_.Bool(node, path);
      return one(value ? std::optional<std::string>(*value ? "true" : "false") : std::nullopt);
    }
    if (std::holds_alternative<int64_t Settings::*>(option.member)) {
      const std::optional<int64_t> value = document_.Int(node, path, option.min, option.max);
      return one(value ? std::optional(fmt::format("{}", *value)) : std::nullopt);
    }
    return one(document_.Text(node, path));
  }

  std::optional<std::vector<std::string>> ItemsIn(const Node& node, const std::string& path) {
    std::vector<std::string> texts;
    if (!node.IsSequence()) {
      static_cast<void>(document_.List(&node, path));  // reports the type error
      return std::nullopt;
    }
    for (const Node& item : node.items) {
      std::optional<std::string> text = document_.Text(item, path);
      if (!text) return std::nullopt;
      texts.push_back(*std::move(text));
    }
    return texts;
  }

  Document& document_;
  Settings& settings_;
  SourcesByKey& sources_;
};

}  // namespace

void ReadOwnFile(Document& document, Settings& settings, SourcesByKey& sources) {
  OwnFileReader(document, settings, sources).ReadAll();
}

}  // namespace tessera::scheduler
