// SPDX-License-Identifier: Apache-2.0
// The keys of `ascend: {}`. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "hami/vendor_table.h"

namespace tessera {

struct AscendConfig {
  // How a container gets its chips.
  enum class Mode : uint8_t {
    kNodes,     // device nodes and the driver's files
    kRuntime,   // ascend-docker-runtime's variables; it adds nodes and files
    kHamiCore,  // HAMi's limiter in containers, which is refused
  };

  // "Ascend910B3": only chips of this model; with a template, "Ascend910B3-vir05_1c_16g" as well.
  // Empty: all.
  std::string profile{};
  // The family's name in a resource that stands for several profiles; empty: none. Filled in.
  std::string family{};
  // The template of vNPUs that the devices are; empty: whole chips, or any template if `fixed`.
  std::string vnpu_template{};
  // The devices are vNPUs that an administrator has made.
  bool fixed = false;
  Mode mode = Mode::kNodes;
  // The model's row in HAMi's table, by which pods ask for parts of a chip; null: the policy is not
  // `vgpu`. Filled in.
  const hami::ServedVendor* vgpu = nullptr;

  bool IsWhole() const { return vnpu_template.empty() && !fixed; }
  // The agent makes a vNPU for each grant.
  bool Makes() const { return !vnpu_template.empty() && !fixed; }
  // The agent makes the vNPUs of the parts that pods ask for.
  bool Divides() const { return vgpu != nullptr && mode == Mode::kNodes; }
  bool operator==(const AscendConfig&) const = default;
};

}  // namespace tessera
