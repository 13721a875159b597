// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/rendering.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/nvidia/core/gpu.h"

namespace tessera::nvidia {
namespace {

// The CDI device of that name, in a document of its own.
std::string CdiDeviceOf(const Rendering& rendering, std::string_view name) {
  if (rendering.cdi_kind.empty()) return "";
  return fmt::format("{}/{}", rendering.cdi_kind.substr(0, rendering.cdi_kind.find('/')), name);
}

// NVIDIA's container toolkit has its own names for features.
void CompleteExtras(const NvidiaConfig& config, Rendering& rendering) {
  struct Row {
    Feature feature;
    const char* env;
    const char* cdi;
  };
  constexpr Row kRows[] = {{Feature::kGdrcopy, "NVIDIA_GDRCOPY", "gdrcopy=all"},
                           {Feature::kGds, "NVIDIA_GDS", "gds=all"},
                           {Feature::kMofed, "NVIDIA_MOFED", "mofed=all"}};
  rendering.extras.clear();
  for (const Row& row : kRows) {
    if (std::ranges::count(config.features, row.feature) == 0) continue;
    rendering.extras.push_back({row.env, CdiDeviceOf(rendering, row.cdi)});
  }
  rendering.channels.clear();
  if (config.imex == Imex::kNone) return;
  rendering.channels.push_back({.node = kImexChannel,
                                .name = "0",
                                .env = "NVIDIA_IMEX_CHANNELS",
                                .mount = "imex",
                                .cdi_device = CdiDeviceOf(rendering, "imex-channel=0")});
}

}  // namespace

void CompleteRendering(const NvidiaConfig& config, Rendering& rendering) {
  if (rendering.env.empty()) rendering.env = "NVIDIA_VISIBLE_DEVICES";
  // NVIDIA's container toolkit looks there, if its configuration says so
  // (docs/explain/security.md).
  rendering.mount_list_dir = "/var/run/nvidia-container-devices";
  rendering.cdi_visible_names = !rendering.cdi_kind.empty();
  CompleteExtras(config, rendering);
}

}  // namespace tessera::nvidia
