// SPDX-License-Identifier: Apache-2.0
#include "config/keys.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"
#include "kinds/kinds.h"

namespace tessera::config {
namespace {

const auto kTop = [](auto& config, const At&) -> auto& { return config; };
const auto kResource = [](auto& config, const At& at) -> auto& { return config.resources[at[0]]; };
const auto kDivision = [](auto& config, const At& at) -> auto& {
  return config.resources[at[0]].policy;
};
const auto kRendering = [](auto& config, const At& at) -> auto& {
  return config.resources[at[0]].rendering;
};

Choices<Division> Divisions() {
  Choices<Division> choices;
  for (Division division : {Division::kWhole, Division::kReplicas}) {
    choices.emplace_back(DivisionName(division), division);
  }
  return choices;
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (Strategy strategy : {Strategy::kEnvvar, Strategy::kVolumeMounts, Strategy::kDeviceSpecs,
                            Strategy::kCdiAnnotations, Strategy::kCdiCri}) {
    names.emplace_back(StrategyName(strategy));
  }
  return names;
}

Field StrategiesField() {
  return {[](Config& config, const At& at, const Value& value) {
            std::vector<Strategy>& strategies = kRendering(config, at).strategies;
            strategies.clear();
            for (const std::string& name : std::get<std::vector<std::string>>(value)) {
              if (const auto strategy = StrategyFromName(name)) strategies.push_back(*strategy);
            }
          },
          [](const Config& config, const At& at) {
            std::vector<std::string> names;
            for (Strategy strategy : kRendering(config, at).strategies) {
              names.emplace_back(StrategyName(strategy));
            }
            return Value(std::move(names));
          }};
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
       .doc = "How devices are divided: not at all, or each into so many equal replicas.",
       .example = "replicas",
       .values = NamesOf(Divisions()),
       .field = BindEnum(kDivision, &Policy::division, Divisions())},
      {.name = "replicas",
       .type = Type::kInt,
       .doc = "Shares a device, at least 2 with `policy: replicas`; containers that hold shares of "
              "one device share it without limits.",
       .example = "4",
       .unit = "shares",
       .min = 1,
       .max = 10'000,
       .field = Bind(kDivision, &Policy::replicas)},
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
       .values = StrategyNames(),
       .field = StrategiesField()},
      {.name = "cdi",
       .type = Type::kSection,
       .doc = "The Container Device Interface, needed by the strategies that begin with `cdi-`.",
       .children = {{.name = "kind",
                     .doc = "The kind of the CDI devices, vendor and class, at least two letters "
                            "each; every resource needs its own.",
                     .example = "dummy.com/npu",
                     .default_note = "none: no CDI",
                     .check = CheckCdiKind,
                     .field = Bind(kRendering, &Rendering::cdi_kind)},
                    {.name = "dir",
                     .type = Type::kPath,
                     .doc = "The directory the CDI document is written to.",
                     .example = "/etc/cdi",
                     .field = Bind(kResource, &Resource::cdi_dir)}}},
  };
}

}  // namespace

Key ResourcesKey() {
  std::vector<Key> keys = DivisionKeys();
  for (Key& key : RenderingKeys()) keys.push_back(std::move(key));
  for (const Kind& kind : Kinds()) keys.push_back(kind.section);
  return {.name = "resources",
          .type = Type::kList,
          .doc =
              "What the node offers; each resource has exactly one section that says what kind "
              "of devices it is made of.",
          .max = 256,
          .list = BindList(kTop, &Config::resources),
          .children = std::move(keys)};
}

}  // namespace tessera::config
