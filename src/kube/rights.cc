// SPDX-License-Identifier: Apache-2.0
#include "kube/rights.h"

#include <fmt/core.h>

#include <vector>

#include "base/text.h"

namespace tessera::kube {

// Paths are "/api/v1/..." or "/apis/GROUP/VERSION/...", optionally with "namespaces/NAME" before
// the resource.
std::string RuleFor(std::string_view verb, std::string_view path) {
  const std::vector<std::string> parts = Split(path, '/');  // the first is empty
  const bool core = parts.size() > 3 && parts[1] == "api";
  const bool group = parts.size() > 4 && parts[1] == "apis";
  if (!core && !group) return "";
  const std::string_view name = core ? "" : std::string_view(parts[2]);
  size_t at = core ? 3 : 4;
  if (parts[at] == "namespaces" && parts.size() > at + 2) at += 2;
  std::string resource = parts[at];
  if (parts.size() > at + 2) resource += fmt::format("/{}", parts[at + 2]);
  return fmt::format(R"({{apiGroups: ["{}"], resources: ["{}"], verbs: ["{}"]}})", name, resource,
                     verb);
}

Error WithRight(Error error, int status, std::string_view verb, std::string_view path) {
  const std::string rule = status == 403 ? RuleFor(verb, path) : "";
  if (!rule.empty()) error.message += "; the role lacks the rule " + rule;
  return error;
}

}  // namespace tessera::kube
