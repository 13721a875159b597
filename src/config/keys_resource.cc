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

// A word that people expect beside these, and what is to be written instead.
std::optional<Misfit> CheckDivision(std::string_view text) {
  if (text == "mig") {
    return Misfit{Reason::kConfigBadValue,
                  "is no choice of MIG devices: choose them by 'nvidia: {mig: PROFILE}', and leave "
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
       .doc =
           "How devices are divided: not at all; each into so many equal replicas, which nothing "
           "keeps apart; or, NVIDIA GPUs alone, into shares of a size, by MPS (docs/how-to/mps.md) "
           "or as "
           "virtual GPUs (docs/how-to/exact-shares.md).",
       .example = "replicas",
       .values = NamesOf(Divisions()),
       .check = CheckDivision,
       .field = BindEnum(kDivision, &Policy::division, Divisions())},
      {.name = "replicas",
       .type = Type::kInt,
       .doc = "Shares a device, at least 2 with `policy: replicas` or `mps`; containers that "
              "hold shares of one device share it, without limits unless MPS or `vgpu` sets them. "
              "All shares of a resource must fit a message of kubelet's (`list-too-large`).",
       .example = "4",
       .unit = "shares",
       .min = 1,
       .max = kMostReplicas,
       .field = Bind(kDivision, &Policy::replicas)},
      {.name = "replicaSeparator",
       .type = Type::kEnum,
       .doc = "What parts a replica's number from its device in an id: `ID::0`, or `ID-0`, which "
              "needs an id with a UUID, such as a GPU's; any other keeps the colons.",
       .example = "dash",
       .values = NamesOf(Separators()),
       .field = BindEnum(kDivision, &Policy::separator, Separators())},
      {.name = "onePerContainer",
       .type = Type::kBool,
       .doc = "Whether a container that asks for more than one replica is refused: shares carry "
              "no size, so it would get no more by them.",
       .example = "true",
       .field = Bind(kRendering, &Rendering::one_per_container)},
      {.name = "numaTopology",
       .type = Type::kBool,
       .doc = "Whether kubelet is told which NUMA nodes devices are near to, by which its topology "
              "manager goes.",
       .example = "false",
       .field = Bind(kDivision, &Policy::tells_numa)},
      {.name = "placement",
       .type = Type::kEnum,
       .doc = "Where shares go: to the device with the most free shares, or to the one with the "
              "fewest.",
       .example = "pack",
       .values = NamesOf(placement),
       .field = BindEnum(kResource, &Resource::placement, placement)},
  };
}

std::vector<Key> RenderingKeys() {
  return {
      {.name = "env",
       .doc = "The variable that names the granted devices to the container; different for every "
              "resource, since of two equal ones a container gets only the first.",
       .example = "DUMMY_VISIBLE_DEVICES",
       .default_note = "for `dummy` the vendor of the name and `_VISIBLE_DEVICES`; else none",
       .check = CheckEnvironmentName,
       .field = Bind(kRendering, &Rendering::env)},
      {.name = "strategies",
       .type = Type::kEnumList,
       .doc = "How devices reach the container; several work together.",
       .example = "[envvar, cdi-cri]",
       .default_note = "`[envvar, volume-mounts, device-specs]`; for GPUs `[cdi-cri]` where the "
                       "container runtime is known to read CDI documents (docs/reference/cdi.md)",
       .values = NamesOf(Strategies()),
       .field = BindEnumList(kRendering, &Rendering::strategies, Strategies())},
      {.name = "cdi",
       .type = Type::kSection,
       .doc = "The Container Device Interface, needed by the strategies that begin with `cdi-`.",
       .children =
           [] {
             return std::vector<Key>{
                 {.name = "kind",
                  .doc = "The kind of the CDI devices, vendor and class, at least two letters "
                         "each; every resource needs its own.",
                  .example = "dummy.com/npu",
                  .default_note = "none: no CDI",
                  .check = CheckCdiKind,
                  .field = Bind(kRendering, &Rendering::cdi_kind)},
                 {.name = "write",
                  .type = Type::kBool,
                  .doc = "Whether the agent writes the CDI document; `false` where another "
                         "program does, whose devices have the names that `env` has.",
                  .example = "false",
                  .field = Bind(kRendering, &Rendering::cdi_write)},
                 {.name = "annotationPrefix",
                  .doc = "What the annotation of `cdi-annotations` begins with; the resource's "
                         "name follows.",
                  .example = "cdi.k8s.io/nvidia-device-plugin_",
                  .check = CheckAnnotationPrefix,
                  .field = Bind(kRendering, &Rendering::cdi_annotation_prefix)},
                 {.name = "dir",
                  .type = Type::kPath,
                  .doc = "The directory the CDI document is written to.",
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
  return {.name = "resources",
          .type = Type::kList,
          .doc =
              "What the node offers; each resource has exactly one section that says what kind "
              "of devices it is made of.",
          .max = 256,
          .list = BindList(kTop, &Config::resources),
          .children = [&kinds] { return ResourceKeys(kinds); }};
}

}  // namespace tessera::config
