// SPDX-License-Identifier: Apache-2.0
#include "compat/config_manager/choose_config.h"

#include <algorithm>

#include "base/text.h"
#include "config/schema/problem.h"

namespace tessera::config_manager {
namespace {

constexpr std::string_view kDefaultName = "default";

Result<std::string> Named(const std::string& name, std::string_view by,
                          const std::vector<std::string>& files) {
  if (std::ranges::count(files, name) > 0) return name;
  return Fail(Reason::kNotFound, "{} names the configuration {}, but there is {}", by,
              config::Quoted(name), files.empty() ? "none" : "only " + Join(files, ", "));
}

}  // namespace

Result<std::vector<Fallback>> ParseFallbacks(std::string_view text) {
  std::vector<Fallback> fallbacks;
  for (const std::string& part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    if (word.empty()) continue;
    if (word == "named") {
      fallbacks.push_back(Fallback::kNamed);
    } else if (word == "single") {
      fallbacks.push_back(Fallback::kSingle);
    } else if (word == "empty") {
      fallbacks.push_back(Fallback::kEmpty);
    } else {
      return Fail(Reason::kInvalid, "the fallback {} is not one of named, single, empty",
                  config::Quoted(word));
    }
  }
  return fallbacks;
}

Result<std::string> ChooseFile(const std::optional<std::string>& label, const ChoiceRules& rules,
                               const std::vector<std::string>& files) {
  if (label && !label->empty()) return Named(*label, "the node's label", files);
  if (!rules.usual.empty()) return Named(rules.usual, "the default", files);
  for (const Fallback fallback : rules.fallbacks) {
    if (fallback == Fallback::kEmpty) return std::string();
    if (fallback == Fallback::kSingle && files.size() == 1) return files.front();
    if (fallback == Fallback::kNamed && std::ranges::count(files, kDefaultName) > 0) {
      return std::string(kDefaultName);
    }
  }
  return Fail(Reason::kNotFound,
              "no label of the node, default or fallback names a configuration; there is {}",
              files.empty() ? "none" : Join(files, ", "));
}

}  // namespace tessera::config_manager
