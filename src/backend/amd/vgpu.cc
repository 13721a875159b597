// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/vgpu.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/amd/devices.h"
#include "backend/amd/gpus.h"
#include "backend/kind.h"
#include "base/text.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"
#include "grant/fraction.h"

namespace tessera::amd {
namespace {

using config::At;
using config::Bind;
using config::Key;
using config::Type;

constexpr uint64_t kFirstRdna = 100'000;  // gfx1000
constexpr char kLibraryInside[] = "/usr/local/vgpu/libamvgpu.so";

constexpr auto kVgpu = [](auto& config, const At& at) -> auto& {
  return kKindConfig<AmdConfig>(config, at).vgpu;
};
constexpr auto kRequests = [](auto& config, const At& at) -> auto& {
  return kVgpu(config, at).requests;
};

// The order of the variables' devices is that of ROCR_VISIBLE_DEVICES, by which the runtime numbers
// them in the container.
class CuMaskEnforcer final : public Enforcer {
 public:
  std::map<std::string, std::string> Envs(const FractionRules&,
                                          const FractionGrant& grant) const override {
    std::vector<std::string> names, masks;
    int64_t memory = 0;
    for (const Fraction& part : grant.parts) {
      masks.push_back(fmt::format("{}:{}", names.size(), part.units));
      names.push_back(RocmName(UniqueIdOf(part.device).value_or(0)));
      // The library has one limit for all devices: the least one, so that none exceeds its grant.
      memory = memory == 0 ? part.memory : std::min(memory, part.memory);
    }
    std::map<std::string, std::string> envs = {{"ROCR_VISIBLE_DEVICES", Join(names, ",")},
                                               {"HSA_CU_MASK", Join(masks, ";")}};
    if (!grant.licensed) return envs;
    envs["HIP_DEVICE_MEMORY_LIMIT"] = fmt::format("{}m", memory);
    envs["LD_AUDIT"] = kLibraryInside;
    return envs;
  }

  std::vector<Mount> Mounts(const FractionRules& vgpu, const FractionGrant& grant) const override {
    if (!grant.licensed) return {};
    return {{.host_path = vgpu.library, .container_path = kLibraryInside}};
  }

  // The container gets the library only if the node has it.
  std::vector<std::string> LicenseFiles(const FractionRules& vgpu) const override {
    return {vgpu.library};
  }

  std::string LimitsText(const FractionRules&, const FractionGrant&) const override { return ""; }
  std::string PreloadText(const FractionRules&) const override { return ""; }
  bool OwnsRegion(const FractionRules&) const override { return false; }
  void FillRegion(const FractionRules&, const std::vector<Fraction>&,
                  limiter::Region&) const override {}
};
constexpr CuMaskEnforcer kCuMasks;

std::vector<Key> VgpuKeys() {
  return {
      {.name = "directory",
       .type = Type::kPath,
       .doc = "The agent's directory for containers' files on the host.",
       .example = "/usr/local/vgpu",
       .field = Bind(kVgpu, &AmdConfig::Vgpu::directory)},
      {.name = "library",
       .type = Type::kPath,
       .doc = "HAMi's library that limits memory, on the host. Containers get it if it is there; "
              "without it their memory is not limited.",
       .example = "/usr/local/vgpu/libamvgpu.so",
       .field = Bind(kVgpu, &AmdConfig::Vgpu::library)},
      {.name = "memoryResource",
       .doc = "The resource by which pods ask for memory of each virtual GPU, in MiB.",
       .example = "amd.com/gpumem",
       .check = config::CheckResourceName,
       .field = Bind(kRequests, &FractionRequests::memory_name)},
      {.name = "coresResource",
       .doc = "The resource by which pods ask for compute units of each virtual GPU, in percent of "
              "the GPU's.",
       .example = "amd.com/gpucores",
       .check = config::CheckResourceName,
       .field = Bind(kRequests, &FractionRequests::cores_name)},
      {.name = "register",
       .type = Type::kBool,
       .doc = "Whether the agent registers the GPUs with HAMi's scheduler. `false`: it places no "
              "pod here.",
       .example = "false",
       .field = Bind(kVgpu, &AmdConfig::Vgpu::registered)},
  };
}

}  // namespace

const Enforcer& CuMasks() {
  return kCuMasks;
}

Key VgpuKey() {
  return {.name = "vgpu",
          .type = Type::kSection,
          .doc = "Settings for `policy: vgpu` (docs/how-to/amd.md).",
          .children = VgpuKeys};
}

void CompleteVgpu(config::Resource& resource) {
  AmdConfig& amd = *resource.kind.As<AmdConfig>();
  amd.vgpu.on = resource.policy.division == Division::kVgpu;
  resource.rendering.fractions.reset();
  if (!amd.vgpu.on) return;
  amd.ids = AmdConfig::Ids::kUuid;  // HAMi's scheduler names GPUs by them
  FractionRules& rules = resource.rendering.fractions.emplace();
  rules.enforcer = &CuMasks();
  rules.directory = amd.vgpu.directory;
  rules.library = amd.vgpu.library;
  rules.own_library = true;  // it wants no lock
  rules.enforced = false;    // there are no files of limits
  rules.core_capacity = kComputeUnits;
  rules.parts = resource.policy.replicas;
  rules.requests = amd.vgpu.requests;
  if (amd.vgpu.registered) rules.registration = {.order_step = kOrderStep};
}

void CheckVgpu(const config::Config& config, size_t index, const std::string& section,
               config::Findings& findings) {
  const config::Resource& resource = config.resources[index];
  const AmdConfig& amd = *resource.kind.As<AmdConfig>();
  if (!amd.vgpu.on) {
    if (!findings.IsSet(section + ".vgpu") || amd.vgpu == AmdConfig::Vgpu()) return;
    findings.Warn(Reason::kConfigMissing, section + ".vgpu",
                  "has no effect without 'policy: vgpu' in the resource");
    return;
  }
  const Rendering& rendering = resource.rendering;
  const bool by_cdi = WritesCdi(rendering) && std::ranges::all_of(rendering.strategies, IsCdi);
  if (!by_cdi) {
    findings.Report(Reason::kConfigUnsupported, section,
                    "with 'policy: vgpu' needs CDI: set 'strategies: [cdi-cri]' and a 'cdi.kind' "
                    "such as tessera.dev/amd-gpu");
  }
  for (const config::Resource& other : config.resources) {
    const auto& fractions = other.rendering.fractions;
    const bool registers = fractions && fractions->requests;
    if (!registers || fractions->requests->vendor == &hami::kAmd) continue;
    findings.Report(Reason::kConfigUnsupported, section,
                    fmt::format("with 'policy: vgpu' cannot be on one node with virtual GPUs of "
                                "another vendor ({}) that pods choose the size of",
                                other.name));
    return;
  }
}

std::optional<Error> VgpuTrouble(const AmdConfig& config, const Device& device,
                                 uint64_t gfx_version) {
  if (!config.vgpu.on) return std::nullopt;
  if (!device.parent.empty()) {
    return Error{Reason::kInvalid,
                 "virtual GPUs are parts of a whole GPU, and this is a partition: set the GPU to "
                 "SPX, or choose another policy"};
  }
  if (!UniqueIdOf(device.key.id)) {
    return Error{Reason::kUnreadable,
                 "the driver does not report its serial number, by which ROCm would name it"};
  }
  // A mask of one of a pair would give a container the other one too. Source: HAMi's scheduler.
  if (gfx_version >= kFirstRdna) {
    return Error{
        Reason::kInvalid,
        "its compute units go in pairs (RDNA), which the agent cannot give out yet: choose "
        "another policy"};
  }
  const bool counted = device.traits->capacities.contains(kComputeUnits) && device.memory > 0;
  if (counted) return std::nullopt;
  return Error{Reason::kUnreadable, "the driver does not report its memory and compute units"};
}

}  // namespace tessera::amd
