// SPDX-License-Identifier: Apache-2.0
#include "report/node_labels.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

using Keys = std::set<std::string, std::less<>>;

// "a,b" -> a, b.
Keys Listed(const std::string& text) {
  Keys keys;
  for (const std::string& item : Split(text, ',')) {
    if (const std::string_view key = Trim(item); !key.empty()) keys.emplace(key);
  }
  return keys;
}

// Node feature discovery lists keys of its own domain without the domain.
Keys NfdKeys(const Labels& annotations) {
  const std::string of_instance = std::string(".") + kNfdLabels;
  Keys keys;
  for (const auto& [name, value] : annotations) {
    if (name != kNfdLabels && !name.ends_with(of_instance)) continue;
    for (const std::string& key : Listed(value)) {
      keys.insert(key.find('/') == std::string::npos ? "feature.node.kubernetes.io/" + key : key);
    }
  }
  return keys;
}

Keys OwnKeys(const Labels& annotations) {
  const auto found = annotations.find(kOwnedLabels);
  return found == annotations.end() ? Keys() : Listed(found->second);
}

bool Has(const Labels& labels, const std::string& key, const std::string& value) {
  const auto found = labels.find(key);
  return found != labels.end() && found->second == value;
}

}  // namespace

NodePatch PatchLabels(const Labels& wanted, const kube::Metadata& node) {
  const Keys nfd = NfdKeys(node.annotations);
  const Keys owned = OwnKeys(node.annotations);
  NodePatch result;
  json::Object labels;
  std::vector<std::string> owned_now;
  for (const auto& [key, value] : wanted) {
    const bool ours = owned.contains(key) || !node.labels.contains(key);
    if (nfd.contains(key) || !ours) {
      result.others.push_back(key);
      continue;
    }
    owned_now.push_back(key);
    if (!Has(node.labels, key, value)) labels[key] = value;
  }
  for (const std::string& key : owned) {
    const bool gone = !wanted.contains(key) && !nfd.contains(key) && node.labels.contains(key);
    if (gone) labels[key] = nullptr;
  }
  json::Object annotations;
  const std::string list = Join(owned_now, ",");
  const bool listed = node.annotations.contains(kOwnedLabels);
  if (list.empty() && listed) annotations[kOwnedLabels] = nullptr;
  if (!list.empty() && !Has(node.annotations, kOwnedLabels, list)) annotations[kOwnedLabels] = list;
  if (labels.empty() && annotations.empty()) return result;

  json::Object metadata;
  if (!node.resource_version.empty()) metadata["resourceVersion"] = node.resource_version;
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  result.patch = json::Object{{"metadata", std::move(metadata)}};
  return result;
}

NodePatch PatchWithoutLabels(const kube::Metadata& node) {
  return PatchLabels({}, node);
}

}  // namespace tessera
