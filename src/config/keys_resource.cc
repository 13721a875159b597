// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

const auto kResource = [](auto& config, const At& at) -> auto& { return config.resources[at[0]]; };
const auto kDivision = [](auto& config, const At& at) -> auto& {
  return config.resources[at[0]].policy;
};
const auto kRendering = [](auto& config, const At& at) -> auto& {
  return config.resources[at[0]].rendering;
};

Choices<Division> Divisions() {
  Choices<Division> choices;
  for (Division division :
       {Division::kWhole, Division::kReplicas, Division::kMps, Division::kVgpu}) {
    choices.emplace_back(DivisionName(division), division);
  }
  return choices;
}

// The advice for a word that people expect among these values.
std::optional<Misfit> CheckDivision(std::string_view text) {
  if (text == "mig") {
    return Misfit{Reason::kConfigBadValue,
                  "does not select MIG devices: select them by 'nvidia: {mig: PROFILE}', and leave "
                  "'policy' out or share each by 'policy: replicas'"};
  }
  return std::nullopt;
}

Choices<Separator> Separators() {
  Choices<Separator> choices;
  for (Separator separator : {Separator::kColons, Separator::kDash}) {
    choices.emplace_back(SeparatorName(separator), separator);
  }
  return choices;
}

Choices<Strategy> Strategies() {
  Choices<Strategy> choices;
  for (Strategy strategy : {Strategy::kEnvvar, Strategy::kVolumeMounts, Strategy::kDeviceSpecs,
                            Strategy::kCdiAnnotations, Strategy::kCdiCri}) {
    choices.emplace_back(StrategyName(strategy), strategy);
  }
  return choices;
}

std::vector<Key> DivisionKeys() {
  const Choices<Placement> placement = {{"spread", Placement::kSpread}, {"pack", Placement::kPack}};
  return {
      {.name = "name",
       .doc = "The extended resource that pods ask for.",
       .example = "dummy.com/npu",
       .required = true,
       .check = CheckResourceName,
       .field = Bind(kResource, &Resource::name)},
      {.name = "policy",
       .type = Type::kEnum,
       .doc = "How devices are divided. `whole`: not at all. `replicas`: into equal shares without "
              "limits between them. `mps`: NVIDIA GPUs, into shares of MPS (docs/how-to/mps.md). "
              "`vgpu`: GPUs of NVIDIA (docs/how-to/exact-shares.md) or AMD, or Ascend chips, into "
              "parts of their own size.",
       .example = "replicas",
       .values = NamesOf(Divisions()),
       .check = CheckDivision,
       .field = BindEnum(kDivision, &Policy::division, Divisions())},
      {.name = "replicas",
       .type = Type::kInt,
       .doc = "Shares of a device, at least 2 with `policy: replicas` or `mps`. Only MPS and "
              "`vgpu` limit the containers that share a device. All shares of a resource must fit "
              "one message to kubelet (`list-too-large`).",
       .example = "4",
       .unit = "shares",
       .min = 1,
       .max = kMostReplicas,
       .field = Bind(kDivision, &Policy::replicas)},
      {.name = "replicaSeparator",
       .type = Type::kEnum,
       .doc = "The separator before a replica's number in an id. `colons`: `ID::0`. `dash`: "
              "`ID-0`, for ids with a UUID such as a GPU's. Other ids keep the colons.",
       .example = "dash",
       .values = NamesOf(Separators()),
       .field = BindEnum(kDivision, &Policy::separator, Separators())},
      {.name = "onePerContainer",
       .type = Type::kBool,
       .doc = "Whether a container that asks for more than one replica is refused. Replicas have "
              "no size, so more of them give no more of a device.",
       .example = "true",
       .field = Bind(kRendering, &Rendering::one_per_container)},
      {.name = "numaTopology",
       .type = Type::kBool,
       .doc = "Whether the agent reports the NUMA nodes of devices to kubelet, for its topology "
              "manager.",
       .example = "false",
       .field = Bind(kDivision, &Policy::tells_numa)},
      {.name = "placement",
       .type = Type::kEnum,
       .doc = "Which device gets the next share. `spread`: the one with the most free shares. "
              "`pack`: the one with the fewest.",
       .example = "pack",
       .values = NamesOf(placement),
       .field = BindEnum(kResource, &Resource::placement, placement)},
  };
}

std::vector<Key> RenderingKeys() {
  return {
      {.name = "env",
       .doc = "The variable that names the granted devices to the container. Each resource needs "
              "its own: of two equal variables, a container gets only the first.",
       .example = "DUMMY_VISIBLE_DEVICES",
       .default_note = "for `dummy` the vendor of the name and `_VISIBLE_DEVICES`; else none",
       .check = CheckEnvironmentName,
       .field = Bind(kRendering, &Rendering::env)},
      {.name = "strategies",
       .type = Type::kEnumList,
       .doc = "How devices reach the container. Several strategies work together.",
       .example = "[envvar, cdi-cri]",
       .default_note = "`[envvar, volume-mounts, device-specs]`; for GPUs `[cdi-cri]` where the "
                       "container runtime is known to read CDI documents (docs/reference/cdi.md)",
       .values = NamesOf(Strategies()),
       .field = BindEnumList(kRendering, &Rendering::strategies, Strategies())},
      {.name = "cdi",
       .type = Type::kSection,
       .doc = "The Container Device Interface, for the strategies that begin with `cdi-`.",
       .children =
           [] {
             return std::vector<Key>{
                 {.name = "kind",
                  .doc = "The kind of the CDI devices: vendor and class, each of at least two "
                         "letters. Each resource needs its own.",
                  .example = "dummy.com/npu",
                  .default_note = "none: no CDI",
                  .check = CheckCdiKind,
                  .field = Bind(kRendering, &Rendering::cdi_kind)},
                 {.name = "write",
                  .type = Type::kBool,
                  .doc = "Whether the agent writes the CDI document. `false`: another program "
                         "writes it, with the device names that `env` has.",
                  .example = "false",
                  .field = Bind(kRendering, &Rendering::cdi_write)},
                 {.name = "annotationPrefix",
                  .doc = "The beginning of the annotation of `cdi-annotations`. The resource's "
                         "name follows.",
                  .example = "cdi.k8s.io/nvidia-device-plugin_",
                  .check = CheckAnnotationPrefix,
                  .field = Bind(kRendering, &Rendering::cdi_annotation_prefix)},
                 {.name = "dir",
                  .type = Type::kPath,
                  .doc = "The directory for the CDI document.",
                  .example = "/etc/cdi",
                  .field = Bind(kResource, &Resource::cdi_dir)}};
           }},
  };
}

std::vector<Key> ResourceKeys(const Kinds& kinds) {
  std::vector<Key> keys = DivisionKeys();
  for (Key& key : RenderingKeys()) keys.push_back(std::move(key));
  for (const Kind& kind : kinds) keys.push_back(kind.section);
  return keys;
}

}  // namespace

Key ResourcesKey(const Kinds& kinds) {
  return {
      .name = "resources",
      .type = Type::kList,
      .doc = "What the node offers. Each resource has exactly one section for its kind of devices.",
      .max = kMostResources,
      .list = BindList(kTop, &Config::resources),
      .children = [&kinds] { return ResourceKeys(kinds); }};
}

}  // namespace tessera::config
