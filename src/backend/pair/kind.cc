// SPDX-License-Identifier: Apache-2.0
// Pairs of GPUs and network cards: `pair: {gpu: RESOURCE, nic: RESOURCE}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/pair/pair.h"
#include "base/quote.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kPair = kKindConfig<PairConfig>;

std::vector<Key> PairKeys() {
  return {
      {.name = "gpu",
       .doc = "The resource whose devices are paired, of any kind. It may be one of a family.",
       .example = "nvidia.com/gpu",
       .required = true,
       .field = Bind(kPair, &PairConfig::gpu)},
      {.name = "nic",
       .doc = "The resource with their partners. Each is in one pair; with `policy: replicas` in "
              "as many as it has replicas.",
       .example = "rdma/hca",
       .required = true,
       .field = Bind(kPair, &PairConfig::nic)},
  };
}

// The configured resource of this name, or the family that may have it. Null: neither.
const Resource* ResourceOf(const Config& config, const std::string& name) {
  for (const Resource& resource : config.resources) {
    if (resource.name == name && !IsFamily(name)) return &resource;
  }
  for (const Resource& resource : config.resources) {
    if (!IsFamily(resource.name)) continue;
    const auto profile = ProfileIn(resource.name, name);
    const Kind* kind = KindOf(resource);
    if (profile && kind != nullptr && kind->families->MayHave(resource, *profile)) return &resource;
  }
  return nullptr;
}

void CheckPart(const Config& config, const Resource& pair, const std::string& name,
               const std::string& path, Findings& findings) {
  const Resource* part = ResourceOf(config, name);
  if (part == nullptr) {
    findings.Report(
        Reason::kConfigBadValue, path,
        fmt::format("names {}, which is no resource of this configuration", Quoted(name)));
    return;
  }
  if (part->kind.As<PairConfig>() != nullptr) {
    findings.Report(Reason::kConfigBadValue, path,
                    fmt::format("names {}, whose devices are pairs themselves", Quoted(name)));
    return;
  }
  const Division division = part->policy.division;
  if (division == Division::kMps || division == Division::kVgpu) {
    findings.Report(Reason::kConfigBadValue, path,
                    fmt::format("names {}, whose devices are divided by 'policy: {}': pairs have "
                                "whole GPUs",
                                Quoted(name), DivisionName(division)));
    return;
  }
  const Kind* kind = KindOf(*part);
  if (kind != nullptr && Prepares(*kind, *part)) {
    findings.Report(Reason::kConfigBadValue, path,
                    fmt::format("names {}, whose devices are prepared for each grant, which pairs "
                                "are not",
                                Quoted(name)));
    return;
  }
  const bool unknown = kind != nullptr && kind->describes && !WritesCdi(part->rendering);
  if (unknown && WritesCdi(pair.rendering)) {
    findings.Report(Reason::kConfigBadValue, path,
                    fmt::format("names {}, whose driver's files the agent looks up only for CDI: "
                                "give that resource a CDI strategy as well, such as "
                                "'strategies: [cdi-cri]'",
                                Quoted(name)));
  }
}

void CheckPair(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const Resource& resource = config.resources[index];
  const PairConfig& own = *resource.kind.As<PairConfig>();
  CheckPart(config, resource, own.gpu, path + ".gpu", findings);
  CheckPart(config, resource, own.nic, path + ".nic", findings);
  if (own.gpu == own.nic) {
    findings.Report(Reason::kConfigDuplicate, path + ".nic", "names the resource of 'gpu'");
  }
}

void Complete(Config&, size_t) {}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<PairBackend>(resource.name, *resource.kind.As<PairConfig>(), at.found);
}

// All that the id may mean, where a part's id has an underscore too.
std::vector<DeviceKey> PartsOf(const Resource& resource, std::string_view id) {
  const PairConfig& own = *resource.kind.As<PairConfig>();
  std::vector<DeviceKey> parts;
  for (size_t end = id.find('_'); end != std::string_view::npos; end = id.find('_', end + 1)) {
    parts.push_back({own.gpu, std::string(id.substr(0, end))});
    parts.push_back({own.nic, std::string(id.substr(end + 1))});
  }
  return parts;
}

Kind MakeKind() {
  return {.section = {.name = "pair",
                      .type = Type::kSection,
                      .doc = "Pairs: a GPU and the network card nearest to it are one device.",
                      .choice = KindChoice<PairConfig>(),
                      .children = PairKeys},
          .is = IsKind<PairConfig>,
          .complete = Complete,
          .check = CheckPair,
          .make = Make,
          .describes = true,
          .parts_of = PartsOf};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::pair {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::pair
