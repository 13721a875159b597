// SPDX-License-Identifier: Apache-2.0
#include "compat/rdma_shared/translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "compat/rdma_shared/fields.h"
#include "json/json.h"

namespace tessera::config::rdma_shared {
namespace {

constexpr int64_t kInterval = 60;  // seconds; the plugin's default
constexpr int64_t kFewestShares = 2, kMostShares = 1'000'000;

// Null: the resource goes by its old list of devices, beside which there may be an empty object.
const Node* SelectorsIn(const Fields& resource, const std::vector<std::string>& devices) {
  const Node* const node = resource.Find("selectors");
  const bool is_empty = node != nullptr && node->IsMap() && node->entries.empty();
  return is_empty && !devices.empty() ? nullptr : node;
}

std::vector<Alternatives> Selectors(const Node& node, const std::string& path, File& file) {
  const Fields fields(file, node, path,
                      {"vendors", "deviceIDs", "drivers", "ifNames", "linkTypes"});
  return {{"vendor", fields.Texts("vendors", Fields::Form::kLower)},
          {"device", fields.Texts("deviceIDs", Fields::Form::kLower)},
          {"driver", fields.Texts("drivers")},
          {"interface", fields.Texts("ifNames")},
          {"link", fields.Texts("linkTypes", Fields::Form::kLower)}};
}

struct Resource {
  std::string name;
  json::Object object;
  std::vector<Alternatives> selectors;  // values sorted
};

// Nothing: the resource has problems.
std::optional<Resource> ResourceOf(const Fields& fields, File& file) {
  const std::string name = NameIn(fields, "rdma");
  const auto shares = fields.Int("rdmaHcaMax", 0, kMostShares);
  if (fields.Find("rdmaHcaMax") == nullptr) {
    fields.Report("rdmaHcaMax", "is missing: it is the number of containers that share a device");
  }
  const std::vector<std::string> devices = fields.Texts("devices");
  const Node* const selectors = SelectorsIn(fields, devices);
  const bool has_both = selectors != nullptr && !devices.empty();
  if (has_both) fields.Report("devices", "cannot be with 'selectors': leave one out");
  std::vector<Alternatives> all = selectors == nullptr
                                      ? std::vector<Alternatives>{{"interface", devices}}
                                      : Selectors(*selectors, fields.PathOf("selectors"), file);
  const auto select = SelectOf(all, file);
  if (!select) {
    fields.Report(selectors == nullptr ? "devices" : "selectors", std::string(kTooManyEntries));
  } else if (select->empty()) {
    fields.Report("selectors", "is empty: name at least one value, such as a vendor");
  }
  if (name.empty() || !shares || has_both || !select || select->empty()) return std::nullopt;
  if (*shares == 0) {
    fields.Warn("rdmaHcaMax", "is 0: the resource is left out, as in the plugin");
    return std::nullopt;
  }
  if (*shares < kFewestShares) {
    fields.Warn("rdmaHcaMax",
                fmt::format("is {}: each card has {} shares, the fewest that a shared one can have",
                            *shares, kFewestShares));
  }
  for (Alternatives& one : all) std::ranges::sort(one.values);
  return Resource{name,
                  {{"name", name},
                   {"policy", "replicas"},
                   {"replicas", std::max(*shares, kFewestShares)},
                   {"rdma", json::Object{{"select", *select}, {"issm", true}}}},
                  std::move(all)};
}

bool HaveCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

// Whether a card may fit both: for each key, a value that both accept.
bool MayMeet(const Resource& a, const Resource& b) {
  return std::ranges::all_of(a.selectors, [&](const Alternatives& one) {
    const auto other = std::ranges::find(b.selectors, one.key, &Alternatives::key);
    return other == b.selectors.end() || one.values.empty() || other->values.empty() ||
           HaveCommon(one.values, other->values);
  });
}

// A card belongs to the first of our resources that it fits. One warning names the first.
void WarnOfEarlier(const Fields& fields, const std::vector<Resource>& earlier,
                   const Resource& resource) {
  const auto other =
      std::ranges::find_if(earlier, [&](const Resource& one) { return MayMeet(one, resource); });
  if (other == earlier.end()) return;
  fields.Warn(fields.Find("selectors") == nullptr ? "devices" : "selectors",
              fmt::format("may match cards of {}, which then has them alone: the plugin gives "
                          "them to both",
                          other->name));
}

}  // namespace

Translated Translate(Document document) {
  File file{.document = document};
  std::vector<Resource> resources;
  if (!ReportObject(file)) {
    const Fields root(file, document.root(), "", {"periodicUpdateInterval", "configList"});
    if (root.Int("periodicUpdateInterval", 0, INT32_MAX).value_or(kInterval) != kInterval) {
      root.Warn("periodicUpdateInterval", "has no effect: changes are found within seconds");
    }
    if (root.Find("configList") == nullptr && document.ok()) {
      root.Report("configList", "is missing: it lists the resources");
    }
    std::set<std::string> names;
    size_t index = 0;
    for (const Node& node : document.List(root.Find("configList"), "configList")) {
      const Fields fields(file, node, fmt::format("configList[{}]", index++),
                          {"resourceName", "resourcePrefix", "rdmaHcaMax", "devices", "selectors"});
      auto resource = ResourceOf(fields, file);
      if (!resource) continue;
      if (!names.insert(resource->name).second) {
        fields.Report("resourceName", "is that of an earlier resource: give it another name");
        continue;
      }
      WarnOfEarlier(fields, resources, *resource);
      resources.push_back(*std::move(resource));
    }
  }
  json::Array objects;
  for (Resource& resource : resources) objects.emplace_back(std::move(resource.object));
  json::Object yaml{{"version", "tessera/v1"}, {"resources", std::move(objects)}};
  return {.yaml = json::WritePretty(yaml),
          .errors = document.problems(),
          .warnings = std::move(file.warnings)};
}

}  // namespace tessera::config::rdma_shared
