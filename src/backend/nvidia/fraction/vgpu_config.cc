// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_config.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/fraction/limiter.h"
#include "backend/nvidia/fraction/vgpu_requested.h"
#include "config/schema/fields.h"
#include "grant/fraction.h"
#include "hami/names.h"

namespace tessera::nvidia {
namespace {

using config::At;
using config::Bind;
using config::BindEnum;
using config::BindList;
using config::Choices;
using config::Key;
using config::NamesOf;
using config::Type;
using VirtualGpu = NvidiaConfig::Vgpu;

constexpr int kMostParts = kAllCores;

constexpr auto kVgpuSize = [](auto& config, const At& at) -> auto& {
  return kVgpuConfig(config, at).sizes[at[1]];
};

Key VgpuSizesKey() {
  return {.name = "sizes",
          .type = Type::kList,
          .doc =
              "The size of each virtual GPU of a card, by its number. There are as many entries as "
              "`replicas`.",
          .default_note = "none: a card's memory and compute time in so many equal parts",
          .max = kMostParts,
          .list = BindList(kVgpuConfig, &VirtualGpu::sizes),
          .children = [] {
            return std::vector<Key>{
                {.name = "memory",
                 .type = Type::kInt,
                 .doc = "The memory of the virtual GPU.",
                 .example = "8192",
                 .unit = "MiB",
                 .required = true,
                 .min = 1,
                 .max = kMostVgpuMemory,
                 .field = Bind(kVgpuSize, &VirtualGpu::Size::memory)},
                {.name = "cores",
                 .type = Type::kInt,
                 .doc = "The virtual GPU's part of the card's compute time, in percent.",
                 .example = "30",
                 .unit = "percent",
                 .required = true,
                 .min = 1,
                 .max = kAllCores,
                 .field = Bind(kVgpuSize, &VirtualGpu::Size::cores)},
            };
          }};
}

std::optional<config::Misfit> CheckDigit(std::string_view text) {
  if (text.size() == 1 && text.front() >= '0' && text.front() <= '9') return std::nullopt;
  return config::Misfit{.message = fmt::format("takes a digit, not {}", config::Quoted(text))};
}

// The library's settings besides its limits.
std::vector<Key> TunableKeys() {
  const Choices<std::string> core_policy = {
      {"default", ""}, {"force", "force"}, {"disable", "disable"}};
  const Choices<bool> pod = {{"fixed", false}, {"free", true}};
  const Choices<bool> memory_by = {{"library", false}, {"driver", true}};
  return {
      {.name = "memoryBy",
       .type = Type::kEnum,
       .doc = "What limits the memory of containers. `library`: the library. `driver`: the kernel "
              "or the driver, by a limit that was set elsewhere (`dmem.max`, MPS of version 3). "
              "Tessera's library then only shows the limit.",
       .example = "driver",
       .values = NamesOf(memory_by),
       .field = BindEnum(kVgpuConfig, &VirtualGpu::memory_by_driver, memory_by)},
      {.name = "logLevel",
       .doc = "How much the library writes to the container's standard error. `0`: errors. `1`: "
              "warnings as well. `3` and `4`: more each.",
       .example = "1",
       .default_note = "the library's own default",
       .check = CheckDigit,
       .field = Bind(kVgpuConfig, &VirtualGpu::log_level)},
      {.name = "corePolicy",
       .type = Type::kEnum,
       .doc = "Whether the library limits compute time. `default`: if a container has less than "
              "all of it. `force`: always. `disable`: never.",
       .example = "disable",
       .values = NamesOf(core_policy),
       .field = BindEnum(kVgpuConfig, &VirtualGpu::core_policy, core_policy)},
      {.name = "taskPriority",
       .doc = "The priority of the container's work if a monitor watches the GPU. The lower "
              "number goes first, 0 before 1.",
       .example = "0",
       .default_note = "1, the library's own default",
       .check = CheckDigit,
       .field = Bind(kVgpuConfig, &VirtualGpu::task_priority)},
      {.name = "podCorePolicy",
       .type = Type::kEnum,
       .doc = "Whether a pod's own variables override `logLevel`, `corePolicy` and `taskPriority`. "
              "`free`: they do, and so do the variables of HAMi's webhook. `fixed`: they do not.",
       .example = "free",
       .values = NamesOf(pod),
       .field = BindEnum(kVgpuConfig, &VirtualGpu::pod_may_tune, pod)},
  };
}

void CheckSizes(const config::Resource& resource, const VirtualGpu& vgpu, const std::string& path,
                const std::string& section, config::Findings& findings) {
  const std::string at = section + ".vgpu.sizes";
  if (vgpu.sizes.empty() || findings.IsBad(at)) return;
  const auto replicas = static_cast<size_t>(resource.policy.replicas);
  if (vgpu.sizes.size() != replicas && !findings.IsBad(path + ".replicas")) {
    findings.Report(Reason::kConfigBadValue, at,
                    fmt::format("has {} sizes for {} virtual GPUs of a card ('replicas')",
                                vgpu.sizes.size(), replicas));
  }
  int cores = 0;
  for (const VirtualGpu::Size& size : vgpu.sizes) cores += size.cores;
  if (cores > kAllCores) {
    findings.Report(Reason::kConfigBadValue, at,
                    fmt::format("share out {} percent of a card's compute time", cores));
  }
}

std::vector<Key> PlaceKeys() {
  return {
      {.name = "directory",
       .type = Type::kPath,
       .doc = "The directory of the limiting library's files, on the host and in containers.",
       .example = "/usr/local/vgpu",
       .field = Bind(kVgpuConfig, &VirtualGpu::directory)},
      {.name = "lockDirectory",
       .type = Type::kPath,
       .doc = "Accepted without effect. Each container has its own directory below `directory` for "
              "the lock of HAMi-core.",
       .example = "/tmp/vgpulock",
       .field = Bind(kVgpuConfig, &VirtualGpu::lock_directory)},
      {.name = "library",
       .type = Type::kPath,
       .doc = "The limiting library on the host: Tessera's, a build of HAMi-core, or another that "
              "reads the same variables.",
       .example = "/usr/local/vgpu/libvgpu.so",
       .default_note = "in `directory`: `libvgpu.so.v…` of the highest version, as HAMi's plugin "
                       "leaves it, else `libvgpu.so`",
       .field = Bind(kVgpuConfig, &VirtualGpu::library)},
      {.name = "install",
       .type = Type::kPath,
       .doc = "Instead of `library`: the library as the agent sees it, such as in its image. The "
              "agent copies it into `directory` under a name that its contents determine. New "
              "grants use that name.",
       .example = "/usr/lib/tessera/libvgpu.so",
       .default_note = "none: `library` is there without the agent",
       .field = Bind(kVgpuConfig, &VirtualGpu::install)},
      {.name = "enforced",
       .type = Type::kBool,
       .doc = "Whether every container gets the library. A container is refused if the library is "
              "missing. `false`: containers have no limits, even if the library is there.",
       .example = "false",
       .field = Bind(kVgpuConfig, &VirtualGpu::enforced)},
  };
}

void CheckDirectory(const VirtualGpu& vgpu, const std::string& section,
                    config::Findings& findings) {
  if (vgpu.directory.find_first_of(" \t\r\n:") == std::string::npos) return;
  findings.Report(
      Reason::kConfigBadValue, section + ".vgpu.directory",
      "has a space or a colon, where a container's loader would split the library's path");
}

// With "/" at its end, a path is followed through a link even by calls that do not follow links.
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

namespace {

std::vector<Key> VgpuKeys() {
  std::vector<Key> keys = PlaceKeys();
  keys.push_back(VgpuSizesKey());
  keys.push_back(VgpuModeKey());
  for (Key& key : RequestedKeys()) keys.push_back(std::move(key));
  for (Key& key : TunableKeys()) keys.push_back(std::move(key));
  return keys;
}

}  // namespace

Key VgpuKey() {
  return {.name = "vgpu",
          .type = Type::kSection,
          .doc = "Settings for `policy: vgpu` (docs/how-to/exact-shares.md).",
          .children = VgpuKeys};
}

void CompleteVgpu(config::Resource& resource) {
  VirtualGpu& vgpu = resource.kind.As<NvidiaConfig>()->vgpu;
  vgpu.on = resource.policy.division == Division::kVgpu;
  resource.rendering.fractions.reset();
  if (!vgpu.on) return;
  resource.policy.separator = Separator::kDash;  // as HAMi's ids are
  FractionRules& rendered = resource.rendering.fractions.emplace();
  rendered.enforcer = &nvidia::Limiter();
  rendered.directory = WithoutSlash(vgpu.directory);
  rendered.library = vgpu.library.empty() ? rendered.directory + "/libvgpu.so" : vgpu.library;
  rendered.library_by_rule = vgpu.library.empty() && vgpu.install.empty();
  rendered.install = vgpu.install;
  rendered.enforced = vgpu.enforced;
  rendered.parts = resource.policy.replicas;
  for (const VirtualGpu::Size& size : vgpu.sizes) {
    rendered.sizes.push_back({.memory = size.memory, .cores = size.cores});
  }
  if (vgpu.mode == VirtualGpu::Mode::kRequested) {
    rendered.requests = vgpu.requests;
    if (vgpu.hami.registered) {
      rendered.registration = {.link_scores = vgpu.hami.topology_scores,
                               .old_format = vgpu.hami.before_2_8,
                               .order_step = nvidia::kOrderStep};
    }
  }
  rendered.memory_scaling = vgpu.memory_scaling;
  rendered.core_scaling = vgpu.core_scaling;
  rendered.memory_by_driver = vgpu.memory_by_driver;
  if (!vgpu.log_level.empty()) rendered.tunables[std::string(hami::kEnvLogLevel)] = vgpu.log_level;
  // Fixed settings are always set, or the pod's own would take effect.
  if (!vgpu.core_policy.empty() || !vgpu.pod_may_tune) {
    rendered.tunables[std::string(hami::kEnvCorePolicy)] =
        vgpu.core_policy.empty() ? "default" : vgpu.core_policy;
  }
  if (!vgpu.task_priority.empty() || !vgpu.pod_may_tune) {
    rendered.tunables[std::string(hami::kEnvTaskPriority)] =
        vgpu.task_priority.empty() ? "1" : vgpu.task_priority;
  }
  rendered.tunables_fixed = !vgpu.pod_may_tune;
  rendered.may_disable_control = vgpu.may_disable_control;
}

void CheckVgpu(const config::Resource& resource, const std::string& path,
               const std::string& section, config::Findings& findings) {
  const NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  if (!kind.vgpu.on) {
    if (findings.IsSet(section + ".vgpu") && kind.vgpu != VirtualGpu()) {
      findings.Warn(Reason::kConfigMissing, section + ".vgpu",
                    "has no effect without 'policy: vgpu' in the resource");
    }
    return;
  }
  if (!kind.mig.empty()) {
    findings.Report(Reason::kConfigUnsupported, section + ".mig",
                    "cannot be combined with 'policy: vgpu', which divides whole GPUs");
  }
  const bool equal = kind.vgpu.mode == VirtualGpu::Mode::kEqual;
  if (equal && resource.policy.replicas > kMostParts && !findings.IsBad(path + ".replicas")) {
    findings.Report(Reason::kConfigBadValue, path + ".replicas",
                    fmt::format("is {}: a virtual GPU has at least one of a card's {} percent of "
                                "compute time",
                                resource.policy.replicas, kMostParts));
  }
  CheckDirectory(kind.vgpu, section, findings);
  if (findings.IsSet(section + ".vgpu.lockDirectory")) {
    findings.Warn(Reason::kConfigUnsupported, section + ".vgpu.lockDirectory",
                  "has no effect: each container has a lock of its own below 'directory'");
  }
  if (!kind.vgpu.install.empty() && !kind.vgpu.library.empty()) {
    findings.Report(Reason::kConfigBadValue, section + ".vgpu.install",
                    "cannot be combined with 'library': either the agent copies the library, or it "
                    "already exists");
  }
  CheckSizes(resource, kind.vgpu, path, section, findings);
  CheckRequested(resource, section + ".vgpu", findings);
}

}  // namespace tessera::nvidia
