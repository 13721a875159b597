// SPDX-License-Identifier: Apache-2.0
// Ascend NPUs: `ascend: {}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/apart.h"
#include "backend/ascend/ascend.h"
#include "backend/ascend/vgpu.h"
#include "base/characters.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kAscend = kKindConfig<AscendConfig>;
constexpr const char* kVisibleDevices = "ASCEND_VISIBLE_DEVICES";
constexpr const char* kRuntimeOptions = "ASCEND_RUNTIME_OPTIONS";

Choices<AscendConfig::Mode> Modes() {
  return {{"nodes", AscendConfig::Mode::kNodes},
          {"runtime", AscendConfig::Mode::kRuntime},
          {"hami-core", AscendConfig::Mode::kHamiCore}};
}

std::vector<Key> AscendKeys() {
  return {
      {.name = "profile",
       .doc = "Only chips of this model, or vNPUs of this model and template. In a family, the "
              "profile is that of the resource's name.",
       .example = "Ascend910B3",
       .default_note = "all chips",
       .field = Bind(kAscend, &AscendConfig::profile)},
      {.name = "template",
       .doc = "The template of vNPUs that the devices are. The agent makes a vNPU for each grant, "
              "and destroys it afterwards.",
       .example = "vir05_1c_16g",
       .default_note = "none: the devices are whole chips",
       .field = Bind(kAscend, &AscendConfig::vnpu_template)},
      {.name = "static",
       .type = Type::kBool,
       .doc = "Whether the devices are vNPUs that an administrator has made. With `template`, only "
              "those of that template.",
       .example = "true",
       .field = Bind(kAscend, &AscendConfig::fixed)},
      {.name = "mode",
       .type = Type::kEnum,
       .doc = "How a container gets its chips. `nodes`: as device nodes with the driver's files. "
              "`runtime`: by the variables of ascend-docker-runtime, which adds nodes and files. "
              "`hami-core`: HAMi's limiter, which is refused.",
       .example = "runtime",
       .values = NamesOf(Modes()),
       .field = BindEnum(kAscend, &AscendConfig::mode, Modes())},
  };
}

// The model, and the template, that the keys ask for: "Ascend910B4-1" and "vir05_1c_8g" of the
// profile "Ascend910B4-1-vir05_1c_8g". Empty: any.
std::string_view ModelOf(const AscendConfig& config) {
  const std::string_view profile = config.profile;
  return profile.substr(0, profile.find("-vir"));
}
std::string_view TemplateOf(const AscendConfig& config) {
  if (!config.vnpu_template.empty()) return config.vnpu_template;
  const std::string_view profile = config.profile;
  const size_t at = profile.find("-vir");
  return at == std::string_view::npos ? "" : profile.substr(at + 1);
}

// Whether no chip or vNPU can be a device of both. A chip and vNPUs that the agent makes of it
// exclude each other when they are granted.
bool AreApart(const AscendConfig& a, const AscendConfig& b) {
  const bool divided = a.vgpu != nullptr || b.vgpu != nullptr;
  if (divided) return ProfilesDiffer(ModelOf(a), ModelOf(b));
  if (a.fixed != b.fixed || a.IsWhole() != b.IsWhole()) return true;
  return ProfilesDiffer(ModelOf(a), ModelOf(b)) || ProfilesDiffer(TemplateOf(a), TemplateOf(b));
}

void CheckMode(const AscendConfig& own, const std::string& path, Findings& findings) {
  if (own.mode == AscendConfig::Mode::kHamiCore) {
    findings.Report(Reason::kConfigBadValue, path + ".mode",
                    "needs HAMi's library for Ascend, which the agent does not have: give "
                    "containers vNPUs by 'template'");
  }
  if (own.mode == AscendConfig::Mode::kRuntime && own.Makes()) {
    findings.Report(Reason::kConfigBadValue, path + ".mode",
                    "cannot be 'runtime' with 'template': the agent hands out the vNPUs that it "
                    "makes as device nodes");
  }
}

void CheckAscend(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const Resource& resource = config.resources[index];
  const AscendConfig& own = *resource.kind.As<AscendConfig>();
  if (resource.rendering.cdi_kind == "ascend.com/npu") {
    findings.Report(Reason::kConfigBadValue, fmt::format("resources[{}].cdi.kind", index),
                    "is that of Huawei's CDI documents: take another, such as "
                    "'tessera.dev/ascend-npu'");
  }
  if (own.mode == AscendConfig::Mode::kNodes && (!own.IsWhole() || own.Divides()) &&
      resource.rendering.env == kVisibleDevices) {
    findings.Report(Reason::kConfigBadValue, fmt::format("resources[{}].env", index),
                    "cannot be ASCEND_VISIBLE_DEVICES: where ascend-docker-runtime is, it would "
                    "give a container of a vNPU a whole chip");
  }
  const std::string& name = own.vnpu_template;
  constexpr size_t kMostOfName = 31;  // DCMI's room for it
  const bool is_name = name.size() <= kMostOfName && std::ranges::all_of(name, [](char c) {
                         return IsAlphanumeric(c) || c == '_';
                       });
  if (!name.empty() && (ascend::TemplateCores(name) == 0 || !is_name)) {
    findings.Report(Reason::kConfigBadValue, path + ".template",
                    "is no template of vNPUs, such as 'vir05_1c_16g'");
  }
  CheckMode(own, path, findings);
  ascend::CheckVgpu(config, index, path, findings);
  CheckApart<AscendConfig>(config, index, path, findings, AreApart);
}

void Complete(Config& config, size_t index) {
  Resource& resource = config.resources[index];
  AscendConfig& own = *resource.kind.As<AscendConfig>();
  if (IsFamily(resource.name)) own.family = resource.name;
  ascend::CompleteVgpu(resource);
  if (own.mode != AscendConfig::Mode::kRuntime) return;
  if (resource.rendering.env.empty()) resource.rendering.env = kVisibleDevices;
  if (own.fixed) resource.rendering.envs[kRuntimeOptions] = "VIRTUAL";
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<AscendBackend>(resource.name, *resource.kind.As<AscendConfig>(), at.root,
                                         at.state_dir, at.loop, SystemClock(),
                                         AscendBackend::Times());
}

class Families final : public FamilyFinder {
 public:
  bool MayHave(const Resource&, std::string_view profile) const override {
    return profile.starts_with("Ascend");
  }
};
constexpr Families kFamilies;

class Needs final : public NodeUser {
 public:
  std::vector<NodeNeed> NeedsOf(const Resource& resource) const override {
    if (resource.kind.As<AscendConfig>()->mode != AscendConfig::Mode::kRuntime) return {};
    return {{.what = NodeNeed::What::kRuntimeHandler,
             .name = "ascend",
             .advice = "install ascend-docker-runtime, or set 'mode: nodes'"}};
  }
};
constexpr Needs kNeeds;

Kind MakeKind() {
  return {.section = {.name = "ascend",
                      .type = Type::kSection,
                      .doc = "Ascend NPUs and their vNPUs, found by DCMI.",
                      .choice = KindChoice<AscendConfig>(),
                      .children = AscendKeys},
          .is = IsKind<AscendConfig>,
          .complete = Complete,
          .check = CheckAscend,
          .make = Make,
          .runtime_reads_variable = true,
          .ids_are_of_hardware = true,
          .divisions = {Division::kVgpu},
          .prepares =
              [](const Resource& resource) {
                const auto* own = resource.kind.As<AscendConfig>();
                return own->Makes() || own->Divides();
              },
          .families = &kFamilies,
          .node = &kNeeds};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::ascend {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::ascend
