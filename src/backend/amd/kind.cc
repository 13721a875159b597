// SPDX-License-Identifier: Apache-2.0
// AMD GPUs: `amd: {}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/amd/amd.h"
#include "backend/amd/labels.h"
#include "backend/amd/vgpu.h"
#include "backend/apart.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kAmd = kKindConfig<AmdConfig>;
constexpr char kToolkitVariable[] = "AMD_VISIBLE_DEVICES";

constexpr auto kExcluded = [](auto& config, const At& at) -> auto& {
  return kAmd(config, at).exclude[at[1]];
};

Choices<AmdConfig::Ids> Ids() {
  return {{"address", AmdConfig::Ids::kAddress}, {"uuid", AmdConfig::Ids::kUuid}};
}
Choices<AmdConfig::Names> Names() {
  return {{"uuid", AmdConfig::Names::kUuid},
          {"index", AmdConfig::Names::kIndex},
          {"toolkit", AmdConfig::Names::kToolkit}};
}

std::optional<Misfit> CheckExporter(std::string_view text) {
  return text == "off" ? std::nullopt : CheckSocketPath(text);
}

std::vector<Key> AmdKeys() {
  return {
      {.name = "profile",
       .doc = "Only GPUs that are divided so: compute partition and memory partition. `gpu`: those "
              "that cannot be divided. In a family, the profile is that of the resource's name.",
       .example = "cpx_nps1",
       .default_note = "all GPUs",
       .field = Bind(kAmd, &AmdConfig::profile)},
      {.name = "exclude",
       .type = Type::kList,
       .doc = "GPUs that are not offered.",
       .max = 64,
       .list = BindList(kAmd, &AmdConfig::exclude),
       .children =
           [] {
             return std::vector<Key>{{.name = "address",
                                      .doc = "The PCI address.",
                                      .example = "0000:05:00.0",
                                      .required = true,
                                      .field = Bind(kExcluded, &AmdConfig::Excluded::address)}};
           }},
      {.name = "ids",
       .type = Type::kEnum,
       .doc =
           "What ids are made of. `address`: the PCI address. `uuid`: AMD SMI's UUID, which moves "
           "with the card; the address, if it has no serial number.",
       .example = "uuid",
       .values = NamesOf(Ids()),
       .field = BindEnum(kAmd, &AmdConfig::ids, Ids())},
      {.name = "names",
       .type = Type::kEnum,
       .doc =
           "What `env` has of each device. `uuid`: ROCm's name of the GPU. `index`: its number on "
           "the node. `toolkit`: what AMD's container toolkit reads; `env` is then "
           "AMD_VISIBLE_DEVICES.",
       .example = "index",
       .values = NamesOf(Names()),
       .field = BindEnum(kAmd, &AmdConfig::names, Names())},
      {.name = "exporter",
       .doc =
           "The socket of AMD's metrics exporter, or `off`. A GPU that it calls unhealthy is not "
           "offered; without an exporter nothing changes.",
       .example = "off",
       .check = CheckExporter,
       .field = Bind(kAmd, &AmdConfig::exporter)},
      amd::VgpuKey(),
  };
}

// The toolkit refuses a container with names that it does not know.
void CheckToolkit(const Resource& resource, size_t index, Findings& findings) {
  const bool named = resource.rendering.env == kToolkitVariable;
  const AmdConfig::Names names = resource.kind.As<AmdConfig>()->names;
  const std::string key = fmt::format("resources[{}].env", index);
  if (!named && names == AmdConfig::Names::kToolkit) {
    findings.Report(
        Reason::kConfigBadValue, key,
        "must be AMD_VISIBLE_DEVICES with 'names: toolkit', which no other reader knows");
  } else if (named && names == AmdConfig::Names::kUuid) {
    findings.Report(Reason::kConfigBadValue, key,
                    "is read by AMD's container toolkit, which does not know ROCm's names: set "
                    "'names: toolkit' in 'amd'");
  }
}

// Every two resources of the kind have devices of different profiles.
void CheckAmd(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const Resource& resource = config.resources[index];
  if (resource.rendering.cdi_kind == "amd.com/gpu") {
    findings.Report(
        Reason::kConfigBadValue, fmt::format("resources[{}].cdi.kind", index),
        "is that of AMD's container toolkit: take another, such as 'tessera.dev/amd-gpu'");
  }
  CheckToolkit(resource, index, findings);
  amd::CheckVgpu(config, index, path, findings);
  CheckApart<AmdConfig>(config, index, path, findings, [](const AmdConfig& a, const AmdConfig& b) {
    return ProfilesDiffer(a.profile, b.profile);
  });
}

void Complete(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  AmdConfig& own = *resource.kind.As<AmdConfig>();
  if (IsFamily(resource.name)) own.family = resource.name;
  if (own.names == AmdConfig::Names::kToolkit && resource.rendering.env.empty()) {
    resource.rendering.env = kToolkitVariable;
  }
  amd::CompleteVgpu(resource);
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  amd::ExporterWatch::Ask ask;
  if (at.call_unix != nullptr) {
    ask = [call = at.call_unix](const std::string& socket_path) {
      return amd::AskExporter(call, socket_path);
    };
  }
  return std::make_shared<AmdBackend>(
      resource.name, *resource.kind.As<AmdConfig>(), at.root, at.loop,
      [root = at.root](const std::vector<uint64_t>& gpu_ids) {
        return amd::OpenSmiEvents(root, gpu_ids);
      },
      std::move(ask));
}

class Families final : public FamilyFinder {
 public:
  bool MayHave(const Resource&, std::string_view profile) const override {
    return profile == "gpu" || profile.starts_with("spx") || profile.starts_with("dpx") ||
           profile.starts_with("tpx") || profile.starts_with("qpx") || profile.starts_with("cpx");
  }
};
constexpr Families kFamilies;

class Labels final : public LabelMaker {
 public:
  std::unique_ptr<Labeller> Make(const Config& config) const override {
    const bool expected = std::ranges::any_of(config.resources, [](const Resource& resource) {
      return resource.kind.As<AmdConfig>() != nullptr;
    });
    return std::make_unique<amd::AmdLabeller>(os::Root(config.root_prefix), expected);
  }
};
constexpr Labels kLabels;

Kind MakeKind() {
  return {.section = {.name = "amd",
                      .type = Type::kSection,
                      .doc = "AMD GPUs and their partitions, found by the driver amdgpu.",
                      .choice = KindChoice<AmdConfig>(),
                      .children = AmdKeys},
          .is = IsKind<AmdConfig>,
          .complete = Complete,
          .check = CheckAmd,
          .make = Make,
          .ids_are_of_hardware = true,
          .divisions = {Division::kVgpu},
          .families = &kFamilies,
          .labels = &kLabels};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::amd {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::amd
