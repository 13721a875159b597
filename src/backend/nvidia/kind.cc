// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs: `nvidia: {}`.
#include "backend/kind.h"

#include <fmt/core.h>

#include "backend/nvidia/nvidia.h"
#include "config/schema/checks.h"
#include "config/schema/fields.h"

namespace tessera::config {
namespace {

constexpr auto kNvidia = kKindConfig<NvidiaConfig>;
constexpr auto kSelector = [](auto& config, const At& at) -> auto& {
  return kNvidia(config, at).select[at[1]];
};

std::optional<Misfit> CheckIndex(std::string_view text) {
  const bool number = text.find_first_not_of("0123456789") == std::string_view::npos;
  const bool plain = text.size() < 2 || text.front() != '0';
  if (number && plain) return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format("must be a GPU's index, a number, not {}", Quoted(text))};
}

Key SelectKey() {
  return {.name = "select",
          .type = Type::kList,
          .doc = "Which GPUs the resource is made of: those that one of these fits.",
          .default_note = "every GPU",
          .max = 64,
          .list = BindList(kNvidia, &NvidiaConfig::select),
          .children = {
              {.name = "index",
               .doc = "NVML's index of the GPU, which may change when one is plugged.",
               .example = "3",
               .default_note = "any",
               .check = CheckIndex,
               .field = Bind(kSelector, &NvidiaConfig::Selector::index)},
              {.name = "uuid",
               .doc = "The GPU's UUID.",
               .example = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42",
               .default_note = "any",
               .field = Bind(kSelector, &NvidiaConfig::Selector::uuid)},
              {.name = "model",
               .doc = "The GPU's model, with `*` for any characters.",
               .example = "\"*A100*\"",
               .default_note = "any",
               .field = Bind(kSelector, &NvidiaConfig::Selector::model)},
          }};
}

std::vector<Key> NvidiaKeys() {
  return {
      {.name = "driverRoot",
       .type = Type::kPath,
       .doc = "Where the driver is installed, as the agent sees it: `libnvidia-ml.so.1` is looked "
              "for below it.",
       .example = "/run/nvidia/driver",
       .field = Bind(kNvidia, &NvidiaConfig::driver_root)},
      {.name = "devRoot",
       .type = Type::kPath,
       .doc = "The directory on the host below which `/dev/nvidia0` and its like are.",
       .example = "/run/nvidia/driver",
       .field = Bind(kNvidia, &NvidiaConfig::dev_root)},
      SelectKey(),
      {.name = "mig",
       .doc = "The profile of the MIG devices that the resource is made of, with `*` for any "
              "characters.",
       .example = "1g.10gb",
       .default_note = "none: it is made of whole GPUs, those that are not in MIG mode",
       .field = Bind(kNvidia, &NvidiaConfig::mig)},
  };
}

void Complete(Resource& resource) {
  if (resource.rendering.env.empty()) resource.rendering.env = "NVIDIA_VISIBLE_DEVICES";
  // Where NVIDIA's container toolkit looks, once it is told to (docs/security.md).
  resource.rendering.mount_list_dir = "/var/run/nvidia-container-devices";
}

void CheckNvidia(const Config& config, size_t index, const std::string& path, Findings& findings) {
  const std::vector<NvidiaConfig::Selector>& select =
      config.resources[index].kind.As<NvidiaConfig>()->select;
  for (size_t i = 0; i < select.size(); ++i) {
    const std::string at = fmt::format("{}.select[{}]", path, i);
    if (select[i] != NvidiaConfig::Selector() || findings.IsBad(at + ".index")) continue;
    findings.Report(Reason::kConfigMissing, at, "needs one of 'index', 'uuid' and 'model'");
  }
}

std::shared_ptr<Backend> Make(const Resource& resource, const Surroundings& at) {
  return std::make_shared<NvidiaBackend>(resource.name, *resource.kind.As<NvidiaConfig>(), at.root);
}

Kind MakeKind() {
  return {.section = {.name = "nvidia",
                      .type = Type::kSection,
                      .doc = "NVIDIA GPUs, found by NVML.",
                      .choice = KindChoice<NvidiaConfig>(),
                      .children = NvidiaKeys()},
          .complete = Complete,
          .check = CheckNvidia,
          .make = Make,
          .runtime_reads_variable = true};
}

}  // namespace
}  // namespace tessera::config

namespace tessera::nvidia {

Kind Describe() {
  return config::MakeKind();
}

}  // namespace tessera::nvidia
