// SPDX-License-Identifier: Apache-2.0
#include "compat/sriov/translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compat/rdma_shared/fields.h"
#include "json/json.h"

namespace tessera::config::sriov {
namespace {

using rdma_shared::Alternatives;
using rdma_shared::Fields;
using rdma_shared::File;
using rdma_shared::NameIn;
using rdma_shared::ReportObject;
using rdma_shared::SelectOf;

constexpr GoFlag kSriovFlags[] = {
    {"config-file", "FILE", "The plugin's file: /etc/pcidp/config.json."},
    {"resource-prefix", "PREFIX", "The prefix of resources that name none: intel.com."},
    {"use-cdi", "", "It has no effect: containers get the same nodes from kubelet."},
    {"logtostderr"},
    {"alsologtostderr"},
    {"stderrthreshold", "LEVEL"},
    {"v", "LEVEL"},
    {"vmodule", "LEVELS"},
    {"log_dir", "DIRECTORY"},
    {"log-dir", "DIRECTORY"},
    {"log-level", "LEVEL"},
};

// Selectors that no function is chosen by. The plugin itself still serves them.
constexpr const char* kNotServed[] = {"ddpProfiles", "vdpaType", "auxTypes"};

constexpr char kAccelerator[] = "accelerator";

// A selector: entries of `select`, and what containers get of the functions that they choose.
struct Selector {
  json::Array entries{};  // empty: every function
  bool verbs = false, vhost = false;
};

// Nothing: the selector has problems.
std::optional<Selector> SelectorOf(const Node& node, const std::string& path, bool is_network,
                                   File& file) {
  std::vector<std::string> known = {"vendors", "devices", "drivers", "pciAddresses", "acpiIndexes"};
  if (is_network) {
    known.insert(known.end(), {"pfNames", "rootDevices", "linkTypes", "isRdma", "needVhostNet",
                               "pKeys", "ddpProfiles", "vdpaType", "auxTypes"});
  }
  const Fields fields(file, node, path, known);
  const size_t problems = file.document.problems().size();
  for (const char* const name : kNotServed) {
    if (fields.Find(name) != nullptr) {
      fields.Report(name, "is not served: keep the plugin for this resource");
    }
  }
  Selector selector{.verbs = fields.Bool("isRdma"), .vhost = fields.Bool("needVhostNet")};
  auto select = SelectOf({{"vendor", fields.Texts("vendors", Fields::Form::kLower)},
                          {"device", fields.Texts("devices", Fields::Form::kLower)},
                          {"driver", fields.Texts("drivers")},
                          {"address", fields.Texts("pciAddresses", Fields::Form::kLower)},
                          {"acpiIndex", fields.Texts("acpiIndexes")},
                          {"pf", fields.Texts("pfNames")},
                          {"pfAddress", fields.Texts("rootDevices", Fields::Form::kLower)},
                          {"link", fields.Texts("linkTypes", Fields::Form::kLower)},
                          {"pkey", fields.Texts("pKeys", Fields::Form::kLower)}},
                         file);
  if (!select) {
    file.document.Report(Reason::kConfigBadValue, node,
                         fmt::format("{} {}", path, rdma_shared::kTooManyEntries));
  }
  if (file.document.problems().size() > problems) return std::nullopt;
  selector.entries = *std::move(select);
  return selector;
}

bool HasAll(const std::vector<Selector>& selectors) {
  return selectors.empty() ||
         std::ranges::any_of(selectors, [](const auto& one) { return one.entries.empty(); });
}

bool AreAlike(const std::vector<Selector>& selectors) {
  return std::ranges::all_of(selectors, [&](const Selector& one) {
    return one.verbs == selectors[0].verbs && one.vhost == selectors[0].vhost;
  });
}

// The section's keys for the selectors together. Where they differ, the entries say it.
void AddSelectors(std::vector<Selector> selectors, json::Object& section) {
  const bool verbs = std::ranges::any_of(selectors, &Selector::verbs);
  const bool vhost = !selectors.empty() && std::ranges::all_of(selectors, &Selector::vhost);
  const bool has_all = HasAll(selectors);
  json::Array select;
  for (Selector& selector : selectors) {
    for (json::Value& value : selector.entries) {
      json::Object& entry = value.as_object();
      if (selector.verbs != verbs) entry["verbs"] = false;
      if (selector.vhost != vhost) entry["vhost"] = true;
      select.push_back(std::move(value));
    }
  }
  if (!has_all) section["select"] = std::move(select);
  section["verbs"] = verbs;
  section["vhost"] = vhost;
}

// An object, or a list of them.
json::Object SectionOf(const Fields& resource, bool is_network, File& file) {
  const std::string path = resource.PathOf("selectors");
  json::Object section;
  if (is_network) {
    section = {{"issm", true}, {"cni", true}};
  } else {
    section["class"] = kAccelerator;
  }
  const Node* const node = resource.Find("selectors");
  std::vector<Selector> selectors;
  size_t entries = 0;
  const auto add = [&](const Node& one, const std::string& at) {
    auto selector = SelectorOf(one, at, is_network, file);
    if (!selector) return;
    entries += selector->entries.size();
    selectors.push_back(*std::move(selector));
  };
  if (node != nullptr && node->IsSequence()) {
    size_t index = 0;
    for (const Node& one : node->items) add(one, fmt::format("{}[{}]", path, index++));
  } else if (node != nullptr) {
    add(*node, path);
  }
  if (entries > rdma_shared::kMostEntries) {
    resource.Report("selectors", std::string(rdma_shared::kTooManyEntries));
  }
  if (HasAll(selectors) && !AreAlike(selectors)) {
    resource.Report("selectors",
                    "has a selector of every function, and others with another 'isRdma' or "
                    "'needVhostNet': divide the resource");
  }
  AddSelectors(std::move(selectors), section);
  return section;
}

// The texts of an address, or of all ("*").
json::Array InfoOf(const Fields& resource, File& file) {
  json::Array all;
  const Node* const node = resource.Find("additionalInfo");
  if (node == nullptr) return all;
  const std::string path = resource.PathOf("additionalInfo");
  if (!node->IsMap()) {
    resource.Report("additionalInfo", "takes an object of addresses");
    return all;
  }
  for (const Node::Entry& device : node->entries) {
    const std::string at = fmt::format("{}.{}", path, device.key.scalar);
    if (!device.value.IsMap()) {
      file.document.Report(Reason::kConfigWrongType, device.value,
                           at + " takes an object of texts");
      continue;
    }
    for (const Node::Entry& text : device.value.entries) {
      const std::string& key = text.key.scalar;
      json::Object info{{"key", key}};
      if (device.key.scalar != "*") info["address"] = device.key.scalar;
      const auto value = file.document.Text(text.value, fmt::format("{}.{}", at, key));
      if (!value) continue;
      info["value"] = *value;
      all.emplace_back(std::move(info));
    }
  }
  return all;
}

std::optional<json::Object> ResourceOf(const Fields& fields, std::string_view prefix, File& file) {
  const std::string name = NameIn(fields, prefix);
  const std::string type = fields.Text("deviceType", "netDevice");
  if (type != "netDevice" && type != kAccelerator) {
    fields.Report("deviceType",
                  fmt::format("takes 'netDevice' or 'accelerator', not {}: keep the plugin for "
                              "this resource",
                              Quoted(type)));
  }
  json::Object section = SectionOf(fields, type != kAccelerator, file);
  json::Array info = InfoOf(fields, file);
  if (!info.empty()) section["info"] = std::move(info);
  if (name.empty()) return std::nullopt;
  json::Object resource{{"name", name}, {"rdma", std::move(section)}};
  if (fields.Bool("excludeTopology")) resource["numaTopology"] = false;
  return resource;
}

}  // namespace

std::span<const GoFlag> Flags() {
  return kSriovFlags;
}

rdma_shared::Translated Translate(Document document, std::string_view prefix) {
  File file{.document = document};
  json::Array resources;
  if (!ReportObject(file)) {
    const Fields root(file, document.root(), "", {"resourceList"});
    if (root.Find("resourceList") == nullptr && document.ok()) {
      root.Report("resourceList", "is missing: it lists the resources");
    }
    std::set<std::string> names;
    size_t index = 0;
    for (const Node& node : document.List(root.Find("resourceList"), "resourceList")) {
      const Fields fields(file, node, fmt::format("resourceList[{}]", index++),
                          {"resourceName", "resourcePrefix", "deviceType", "excludeTopology",
                           "selectors", "additionalInfo"});
      auto resource = ResourceOf(fields, prefix, file);
      if (!resource) continue;
      if (!names.insert(std::string(resource->at("name").as_string())).second) {
        fields.Report("resourceName", "is that of an earlier resource: give it another name");
      }
      resources.push_back(*std::move(resource));
    }
  }
  json::Object yaml{{"version", "tessera/v1"}, {"resources", std::move(resources)}};
  return {.yaml = json::WritePretty(yaml),
          .errors = document.problems(),
          .warnings = std::move(file.warnings)};
}

}  // namespace tessera::config::sriov
