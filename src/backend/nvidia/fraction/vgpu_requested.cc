// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_requested.h"

#include <algorithm>
#include <utility>

#include "backend/nvidia/fraction/vgpu_config.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"
#include "grant/fraction.h"

namespace tessera::nvidia {
namespace {

using config::At;
using config::Bind;
using config::BindEnum;
using config::Choices;
using config::Key;
using config::Keys;
using config::NamesOf;
using config::Type;
using VirtualGpu = NvidiaConfig::Vgpu;

constexpr int64_t kMostFactor = 1 << 20;
constexpr int64_t kMostScaling = 100;

constexpr auto kRequests = [](auto& config, const At& at) -> auto& {
  return kVgpuConfig(config, at).requests;
};
constexpr auto kHami = [](auto& config, const At& at) -> auto& {
  return kVgpuConfig(config, at).hami;
};

std::vector<Key> NameKeys() {
  return {
      {.name = "memoryResource",
       .doc = "The resource by which pods ask for memory of each virtual GPU, in MiB times "
              "`memoryFactor`.",
       .example = "nvidia.com/gpumem",
       .check = config::CheckResourceName,
       .field = Bind(kRequests, &FractionRequests::memory_name)},
      {.name = "memoryPercentageResource",
       .doc =
           "The resource by which pods ask for memory of each virtual GPU, in percent of a GPU's.",
       .example = "nvidia.com/gpumem-percentage",
       .check = config::CheckResourceName,
       .field = Bind(kRequests, &FractionRequests::percentage_name)},
      {.name = "coresResource",
       .doc = "The resource by which pods ask for compute time of each virtual GPU, in percent.",
       .example = "nvidia.com/gpucores",
       .check = config::CheckResourceName,
       .field = Bind(kRequests, &FractionRequests::cores_name)},
  };
}

std::vector<Key> AmountKeys() {
  return {
      {.name = "defaultMemory",
       .type = Type::kInt,
       .doc = "The memory of a virtual GPU if its pod asks for none. `0`: all of the GPU's.",
       .example = "4096",
       .unit = "MiB",
       .max = kMostVgpuMemory,
       .field = Bind(kRequests, &FractionRequests::default_memory)},
      {.name = "defaultCores",
       .type = Type::kInt,
       .doc = "The compute time of a virtual GPU if its pod asks for none. `0`: no limit.",
       .example = "30",
       .unit = "percent",
       .max = kAllCores,
       .field = Bind(kRequests, &FractionRequests::default_cores)},
      {.name = "memoryFactor",
       .type = Type::kInt,
       .doc = "The MiB in one unit of `memoryResource`.",
       .example = "1024",
       .unit = "MiB",
       .min = 1,
       .max = kMostFactor,
       .field = Bind(kRequests, &FractionRequests::memory_factor)},
      {.name = "memoryScaling",
       .type = Type::kDecimal,
       .doc = "The factor for a GPU's memory. Above 1, the node offers more memory than it has.",
       .example = "1.8",
       .max = kMostScaling,
       .field = Bind(kVgpuConfig, &VirtualGpu::memory_scaling)},
      {.name = "coreScaling",
       .type = Type::kDecimal,
       .doc = "The factor for a GPU's compute time. Above 1, the node offers more than it has.",
       .example = "1.5",
       .max = kMostScaling,
       .field = Bind(kVgpuConfig, &VirtualGpu::core_scaling)},
  };
}

Key HamiKey() {
  return {.name = "hami",
          .type = Type::kSection,
          .doc = "What the agent reports to HAMi's scheduler about the node's GPUs.",
          .children = [] {
            const Choices<bool> compat = {{"2.8", false}, {"2.7", true}};
            return std::vector<Key>{
                {.name = "register",
                 .type = Type::kBool,
                 .doc = "Whether the agent registers the GPUs. `false`: HAMi's scheduler places no "
                        "pod here.",
                 .example = "false",
                 .field = Bind(kHami, &VirtualGpu::Hami::registered)},
                {.name = "topologyScores",
                 .type = Type::kBool,
                 .doc = "Whether the agent reports how near the GPUs are to each other. The "
                        "scheduler's policy `topology-aware` needs it.",
                 .example = "true",
                 .field = Bind(kHami, &VirtualGpu::Hami::topology_scores)},
                {.name = "compat",
                 .type = Type::kEnum,
                 .doc = "The format of the registration. `2.8`: that of HAMi from 2.8 on. `2.7`: "
                        "that of HAMi up to 2.7, with its handshake.",
                 .example = "\"2.7\"",
                 .values = NamesOf(compat),
                 .field = BindEnum(kHami, &VirtualGpu::Hami::before_2_8, compat)},
            };
          }};
}

// Warns of keys below `section` that are set to another value than the default.
void WarnOfNoEffect(const Keys& keys, const std::string& section, const config::Config& config,
                    const config::Config& usual, config::Findings& findings) {
  for (const Key& key : keys) {
    const std::string path = section + "." + std::string(key.name);
    if (!findings.IsSet(path)) continue;
    WarnOfNoEffect(key.children, path, config, usual, findings);
    if (!key.IsScalar() || key.field.load(config, At{}) == key.field.load(usual, At{})) continue;
    findings.Warn(Reason::kConfigMissing, path, "has no effect without 'mode: requested'");
  }
}

}  // namespace

Key VgpuModeKey() {
  const Choices<VirtualGpu::Mode> modes = {{"equal", VirtualGpu::Mode::kEqual},
                                           {"requested", VirtualGpu::Mode::kRequested}};
  return {.name = "mode",
          .type = Type::kEnum,
          .doc =
              "Where the size of a virtual GPU comes from. `equal`: equal parts, or `sizes`. "
              "`requested`: the pod's request, as with HAMi (docs/how-to/from-hami.md).",
          .example = "requested",
          .values = NamesOf(modes),
          .field = BindEnum(kVgpuConfig, &VirtualGpu::mode, modes)};
}

std::vector<Key> RequestedKeys() {
  const Choices<bool> unplaced = {{"refuse", false}, {"fit", true}};
  std::vector<Key> keys = {
      {.name = "unplaced",
       .type = Type::kEnum,
       .doc = "What happens to a pod if no scheduler chose its GPUs. `refuse`: it is refused. "
              "`fit`: it gets what it asks for from free GPUs (docs/how-to/exact-shares.md).",
       .example = "fit",
       .values = NamesOf(unplaced),
       .field = BindEnum(kRequests, &FractionRequests::fit_unplaced, unplaced)},
      {.name = "evictMismatched",
       .type = Type::kBool,
       .doc = "Without CDI: whether the agent evicts a pod that cannot start because kubelet keeps "
              "another pod's grant for it. If not, the pod waits until somebody deletes it "
              "(docs/explain/grants.md).",
       .example = "true",
       .field = Bind(kRequests, &FractionRequests::evict_mismatched)},
      {.name = "allowDisableControl",
       .type = Type::kBool,
       .doc = "Whether a container that sets `CUDA_DISABLE_CONTROL` to true runs without the "
              "library, and so without limits.",
       .example = "true",
       .field = Bind(kVgpuConfig, &VirtualGpu::may_disable_control)}};
  for (Key& key : NameKeys()) keys.push_back(std::move(key));
  for (Key& key : AmountKeys()) keys.push_back(std::move(key));
  keys.push_back(HamiKey());
  return keys;
}

void CheckRequested(const config::Resource& resource, const std::string& path,
                    config::Findings& findings) {
  const VirtualGpu& vgpu = resource.kind.As<NvidiaConfig>()->vgpu;
  if (vgpu.mode == VirtualGpu::Mode::kEqual) {
    config::Config config;
    config.resources = {resource};
    config::Config usual = config;
    usual.resources[0].kind.As<NvidiaConfig>()->vgpu = VirtualGpu();
    return WarnOfNoEffect(RequestedKeys, path, config, usual, findings);
  }
  if (!vgpu.sizes.empty()) {
    findings.Report(Reason::kConfigBadValue, path + ".sizes",
                    "cannot be combined with 'mode: requested', where each pod sets its own size");
  }
  const Rendering& rendering = resource.rendering;
  const bool any_cdi = std::ranges::any_of(rendering.strategies, IsCdi);
  if (any_cdi && !WritesCdi(rendering)) {
    findings.Report(Reason::kConfigUnsupported, path + ".mode",
                    "is 'requested', which needs the agent's own CDI documents or no CDI: set "
                    "'strategies: [cdi-cri]' and the 'cdi.kind' k8s.device-plugin.nvidia.com/gpu");
  }
}

}  // namespace tessera::nvidia
