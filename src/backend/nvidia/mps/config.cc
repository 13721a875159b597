// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mps/config.h"

#include <fmt/core.h>

#include "backend/kind.h"
#include "backend/nvidia/core/gpu.h"
#include "config/schema/fields.h"

namespace tessera::nvidia {
namespace {

using config::At;
using config::Bind;
using config::BindList;
using config::Key;
using config::Type;
using Mps = NvidiaConfig::Mps;

constexpr int64_t kMostMemory = 100'000'000;  // 100 TB

constexpr auto kMps = [](auto& config, const At& at) -> auto& {
  return kKindConfig<NvidiaConfig>(config, at).mps;
};
constexpr auto kSize = [](auto& config, const At& at) -> auto& {
  return kMps(config, at).sizes[at[1]];
};

Key SizesKey() {
  return {.name = "sizes",
          .type = Type::kList,
          .doc =
              "GPUs with another limit of memory for a client. The first entry that matches a GPU "
              "counts.",
          .default_note = "none: `memory` is that of all",
          .max = 64,
          .list = BindList(kMps, &Mps::sizes),
          .children = [] {
            return std::vector<Key>{
                {.name = "index",
                 .doc = "NVML's index of the GPU. It may change when a GPU is plugged in.",
                 .example = "3",
                 .default_note = "any",
                 .field = Bind(kSize, &Mps::Size::index)},
                {.name = "uuid",
                 .doc = "The GPU's UUID.",
                 .example = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42",
                 .default_note = "any",
                 .field = Bind(kSize, &Mps::Size::uuid)},
                {.name = "model",
                 .doc = "The GPU's model, with `*` for any characters.",
                 .example = "\"*A100*\"",
                 .default_note = "any",
                 .field = Bind(kSize, &Mps::Size::model)},
                {.name = "memory",
                 .type = Type::kInt,
                 .doc = "The most memory of such a GPU that a client may take.",
                 .example = "20480",
                 .unit = "MiB",
                 .required = true,
                 .min = 1,
                 .max = kMostMemory,
                 .field = Bind(kSize, &Mps::Size::memory)},
            };
          }};
}

void CheckSizes(const Mps& mps, const std::string& section, config::Findings& findings) {
  for (size_t i = 0; i < mps.sizes.size(); ++i) {
    const Mps::Size& size = mps.sizes[i];
    const std::string at = fmt::format("{}.mps.sizes[{}]", section, i);
    if (findings.IsBad(at) || findings.IsBad(at + ".index")) continue;
    if (!size.index.empty() || !size.uuid.empty() || !size.model.empty()) continue;
    findings.Report(Reason::kConfigMissing, at, "needs one of 'index', 'uuid' and 'model'");
  }
}

}  // namespace

Key MpsKey() {
  return {
      .name = "mps",
      .type = Type::kSection,
      .doc = "Settings of `tessera mps` and the agent for `policy: mps` (docs/how-to/mps.md).",
      .children = [] {
        return std::vector<Key>{
            {.name = "hostRoot",
             .type = Type::kPath,
             .doc = "The directory on the host for the files of MPS. Containers get parts of it.",
             .example = "/run/nvidia/mps",
             .field = Bind(kMps, &Mps::root)},
            {.name = "containerRoot",
             .type = Type::kPath,
             .doc = "The same directory as the agent and `tessera mps` see it.",
             .example = "/mps",
             .default_note = "as on the host",
             .field = Bind(kMps, &Mps::container_root)},
            {.name = "memory",
             .type = Type::kInt,
             .doc = "The most memory of a GPU that a client may take. `0`: all of it, divided by "
                    "`replicas`.",
             .example = "8192",
             .unit = "MiB",
             .max = kMostMemory,
             .field = Bind(kMps, &Mps::memory)},
            {.name = "threads",
             .type = Type::kInt,
             .doc = "The most of a GPU's threads that a client may keep busy, in percent. `0`: "
                    "100, divided by `replicas`.",
             .example = "50",
             .unit = "percent",
             .max = 100,
             .field = Bind(kMps, &Mps::threads)},
            SizesKey(),
        };
      }};
}

std::string MpsDirectory(const Mps& mps, std::string_view resource) {
  const std::string& root = mps.container_root.empty() ? mps.root : mps.container_root;
  return Below(root, fmt::format("/{}", resource));
}

void CompleteMps(config::Resource& resource) {
  Mps& mps = resource.kind.As<NvidiaConfig>()->mps;
  mps.on = resource.policy.division == Division::kMps;
  resource.rendering.envs.clear();
  resource.rendering.mounts.clear();
  if (!mps.on) return;
  // As in NVIDIA's plugin, the resource's full name is in the path.
  const std::string pipe = fmt::format("/{}/pipe", resource.name);
  resource.rendering.envs["CUDA_MPS_PIPE_DIRECTORY"] = "/mps" + pipe;
  resource.rendering.mounts = {
      // Clients only connect to the sockets. Read-only, so that none can take them from the others.
      {.host_path = Below(mps.root, pipe), .container_path = "/mps" + pipe, .read_only = true},
      {.host_path = Below(mps.root, "/shm"), .container_path = "/dev/shm", .read_only = false}};
}

void CheckMps(const config::Resource& resource, const std::string& path, const std::string& section,
              config::Findings& findings) {
  const NvidiaConfig& kind = *resource.kind.As<NvidiaConfig>();
  CheckSizes(kind.mps, section, findings);
  if (!kind.mps.on) {
    // Only if it is set to a value; the default may be written out.
    if (findings.IsSet(section + ".mps") && kind.mps != NvidiaConfig::Mps()) {
      findings.Warn(Reason::kConfigMissing, section + ".mps",
                    "has no effect without 'policy: mps' in the resource");
    }
    return;
  }
  if (!kind.mig.empty()) {
    findings.Report(Reason::kConfigUnsupported, section + ".mig",
                    "cannot be combined with 'policy: mps': MPS shares whole GPUs");
  }
  if (resource.policy.replicas > kMostMpsClients && !findings.IsBad(path + ".replicas")) {
    findings.Report(Reason::kConfigBadValue, path + ".replicas",
                    fmt::format("is {}: MPS serves at most {} clients on a GPU",
                                resource.policy.replicas, kMostMpsClients));
  }
}

}  // namespace tessera::nvidia
