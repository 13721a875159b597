// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explanation.h"

#include <fmt/core.h>

#include "base/text.h"
#include "kube/objects/members.h"

namespace tessera::scheduler {
namespace {

json::Array NamesJson(const std::vector<std::string>& names) {
  json::Array list;
  for (const std::string& name : names) list.emplace_back(name);
  return list;
}

Result<std::vector<std::string>> NamesIn(const json::Object& object, std::string_view key) {
  std::vector<std::string> names;
  const json::Array* list = json::GetArray(object, key);
  if (list == nullptr) return Fail(Reason::kInvalid, "{} is not a list", key);
  for (const json::Value& name : *list) {
    if (!name.is_string()) return Fail(Reason::kInvalid, "{} is not a list of names", key);
    names.emplace_back(name.get_string());
  }
  return names;
}

Result<std::string> NodeLine(const json::Object& group) {
  const std::vector<std::string> names = TRY(NamesIn(group, "nodes"));
  const int64_t count = json::GetInt(group, "count").value_or(0);
  const bool more = count > static_cast<int64_t>(names.size());
  return fmt::format("  {}: {} ({}{})\n", count, json::GetString(group, "why").value_or(""),
                     Join(names, ", "), more ? ", ..." : "");
}

}  // namespace

json::Value ExplanationJson(const Explanation& explanation) {
  json::Array groups;
  for (const auto& [why, group] : explanation.groups) {
    groups.push_back(
        json::Object{{"why", why}, {"count", group.count}, {"nodes", NamesJson(group.nodes)}});
  }
  json::Object blockers;
  for (const auto& [node, pods] : explanation.blockers) blockers[node] = NamesJson(pods);
  json::Object page{{"pod", explanation.pod},
                    {"state", explanation.state},
                    {"fit", NamesJson(explanation.fit)},
                    {"refused", std::move(groups)},
                    {"blockers", std::move(blockers)}};
  if (!explanation.leader.empty()) page["leader"] = explanation.leader;
  if (explanation.tried_seconds_ago) page["triedSecondsAgo"] = *explanation.tried_seconds_ago;
  return page;
}

Result<std::string> ExplanationText(const json::Value& value) {
  const json::Object* page = value.if_object();
  if (page == nullptr) return Fail(Reason::kInvalid, "an explanation is not an object");
  std::string text = fmt::format("{}: {}\n", TRY(kube::NeededTextIn(*page, "pod")),
                                 TRY(kube::NeededTextIn(*page, "state")));
  if (const auto ago = json::GetInt(*page, "triedSecondsAgo")) {
    text += fmt::format("last tried {} s ago\n", *ago);
  }
  if (const auto leader = json::GetString(*page, "leader")) {
    text += fmt::format("the leader {} knows the last try\n", *leader);
  }
  const std::vector<std::string> fit = TRY(NamesIn(*page, "fit"));
  if (!fit.empty()) text += fmt::format("nodes that fit: {}\n", Join(fit, ", "));
  const json::Array* groups = json::GetArray(*page, "refused");
  if (groups != nullptr && !groups->empty()) text += "nodes that do not fit:\n";
  for (const json::Value& group : groups == nullptr ? json::Array() : *groups) {
    if (const json::Object* object = group.if_object()) text += TRY(NodeLine(*object));
  }
  const json::Object* blockers = json::GetObject(*page, "blockers");
  for (const auto& item : blockers == nullptr ? json::Object() : *blockers) {
    const std::vector<std::string> pods = TRY(NamesIn(*blockers, item.key()));
    text += fmt::format("node {} would fit without {}\n", std::string_view(item.key()),
                        Join(pods, ", "));
  }
  return text;
}

}  // namespace tessera::scheduler
