// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_trouble.h"

#include <fmt/core.h>

#include <cmath>

namespace tessera::nvidia {

std::optional<Error> VgpuTrouble(const NvidiaConfig& config, const Device& device) {
  const NvidiaConfig::Vgpu& vgpu = config.vgpu;
  if (!vgpu.on) return std::nullopt;
  if (!device.parent.empty()) {
    return Error{Reason::kMigLayout,
                 "virtual GPUs are parts of a whole GPU, and this is a MIG device: remove "
                 "'inMigMode', or choose another policy"};
  }
  const bool requested = vgpu.mode == NvidiaConfig::Vgpu::Mode::kRequested;
  if (device.memory <= 0 && vgpu.sizes.empty()) {
    return Error{
        Reason::kUnreadable,
        fmt::format(
            "the driver does not report its memory: set 'nvidia: {{memoryIfUntold: ...}}'{}",
            requested ? "" : ", or 'nvidia: {vgpu: {sizes: ...}}'")};
  }
  int64_t given = 0;
  for (const NvidiaConfig::Vgpu::Size& size : vgpu.sizes) given += size.memory;
  const auto has = static_cast<int64_t>(static_cast<double>(device.memory) * vgpu.memory_scaling);
  if (device.memory <= 0 || given <= has) return std::nullopt;
  return Error{
      Reason::kInvalid,
      fmt::format("it has {} MiB, and 'nvidia: {{vgpu: {{sizes: ...}}}}' gives its virtual "
                  "GPUs {} MiB: give them less",
                  has, given)};
}

}  // namespace tessera::nvidia
