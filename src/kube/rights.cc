// SPDX-License-Identifier: Apache-2.0
#include "kube/rights.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace tessera::kube {
namespace {

std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

}  // namespace

// "/api/v1/...", "/apis/GROUP/VERSION/...", each with "namespaces/NAME" before the resource or not.
std::string RuleFor(std::string_view verb, std::string_view path) {
  std::vector<std::string_view> parts = PartsOf(path);
  const bool core = parts.size() > 2 && parts[0] == "api";
  const bool group = parts.size() > 3 && parts[0] == "apis";
  if (!core && !group) return "";
  const std::string_view name = core ? "" : parts[1];
  size_t at = core ? 2 : 3;
  if (parts[at] == "namespaces" && parts.size() > at + 2) at += 2;
  std::string resource(parts[at]);
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
