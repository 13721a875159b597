// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vgpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "backend/ascend/ascend_config.h"
#include "backend/ascend/devices.h"
#include "base/text.h"
#include "config/schema/family.h"
#include "grant/fraction.h"
#include "hami/part_templates.h"

namespace tessera::ascend {
namespace {

constexpr char kGrantFiles[] = "/usr/local/vgpu";  // the agent's, on the host

class RuntimeEnforcer final : public Enforcer {
 public:
  std::map<std::string, std::string> Envs(const FractionRules& vgpu,
                                          const FractionGrant& grant) const override {
    std::map<std::string, std::string> envs = {
        {"ASCEND_VISIBLE_DEVICES", Join(grant.visible, ",")}};
    // Of several chips each is whole.
    for (const Fraction& part : grant.parts) {
      const PartTemplate* made = hami::TemplateOf(*vgpu.requests->vendor, part.memory);
      if (made != nullptr) envs.emplace("ASCEND_VNPU_SPECS", made->name);
    }
    return envs;
  }

  std::vector<Mount> Mounts(const FractionRules&, const FractionGrant&) const override {
    return {};
  }
  std::vector<std::string> LicenseFiles(const FractionRules&) const override { return {}; }
  std::string LimitsText(const FractionRules&, const FractionGrant&) const override { return ""; }
  std::string PreloadText(const FractionRules&) const override { return ""; }
  bool OwnsRegion(const FractionRules&) const override { return false; }
  void FillRegion(const FractionRules&, const std::vector<Fraction>&,
                  limiter::Region&) const override {}
};
constexpr RuntimeEnforcer kRuntimeEnforcer;

std::string Models() {
  std::vector<std::string> words;
  for (const hami::ServedVendor& row : hami::AscendRows()) words.emplace_back(row.vendor->word);
  return Join(words, ", ");
}

// What of the section or the resource excludes the policy; empty: nothing does.
std::string VgpuObstacle(const config::Resource& resource, const AscendConfig& own) {
  if (config::IsFamily(resource.name)) return "cannot be a family: name a resource for one model";
  if (own.fixed || !own.vnpu_template.empty()) {
    return "cannot have 'template' or 'static': pods choose the sizes";
  }
  if (own.vgpu == nullptr) return "needs a 'profile' of HAMi's table: " + Models();
  const Rendering& rendering = resource.rendering;
  if (WritesCdi(rendering) && std::ranges::all_of(rendering.strategies, IsCdi)) return "";
  return "needs CDI: set 'strategies: [cdi-cri]' and a 'cdi.kind' such as tessera.dev/ascend-npu";
}

}  // namespace

const Enforcer& RuntimeVariables() {
  return kRuntimeEnforcer;
}

void CompleteVgpu(config::Resource& resource) {
  AscendConfig& own = *resource.kind.As<AscendConfig>();
  const bool divided = resource.policy.division == Division::kVgpu;
  own.vgpu = divided ? hami::AscendRow(own.profile) : nullptr;
  resource.rendering.fractions.reset();
  if (own.vgpu == nullptr) return;
  FractionRules& rules = resource.rendering.fractions.emplace();
  if (own.mode == AscendConfig::Mode::kRuntime) rules.enforcer = &RuntimeVariables();
  rules.prepared = own.Divides();
  rules.directory = kGrantFiles;
  rules.own_library = true;  // it wants no lock
  rules.enforced = false;    // there are no files of limits
  rules.parts = resource.policy.replicas;
  rules.requests = own.vgpu->vendor->Requests();
  rules.requests->rules = &own.vgpu->rules;
  rules.registration = {.order_step = kOrderStep};
}

void CheckVgpu(const config::Config& config, size_t index, const std::string& section,
               config::Findings& findings) {
  const config::Resource& resource = config.resources[index];
  if (resource.policy.division != Division::kVgpu) return;
  const AscendConfig& own = *resource.kind.As<AscendConfig>();
  if (const std::string why = VgpuObstacle(resource, own); !why.empty()) {
    findings.Report(Reason::kConfigUnsupported, section, "with 'policy: vgpu' " + why);
    return;
  }
  for (const config::Resource& other : config.resources) {
    const auto& fractions = other.rendering.fractions;
    const bool registers = fractions && fractions->requests;
    if (!registers || fractions->requests->vendor == own.vgpu->vendor) continue;
    findings.Report(Reason::kConfigUnsupported, section,
                    fmt::format("with 'policy: vgpu' cannot be on one node with devices of another "
                                "model or vendor ({}) that pods choose the size of",
                                other.name));
    return;
  }
}

}  // namespace tessera::ascend
