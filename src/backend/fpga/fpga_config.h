// SPDX-License-Identifier: Apache-2.0
// The keys of `fpga: {}`. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

struct FpgaConfig {
  enum class Vendor : uint8_t {
    kIntel,   // cards of the drivers DFL and OPAE
    kXilinx,  // cards of XRT
  };
  // What a device of Intel's is, as the modes of Intel's plugin.
  enum class Mode : uint8_t {
    kAf,           // a port with the accelerator function that it has
    kRegion,       // a card's ports; Intel's hook programs them for each container
    kRegionDevel,  // a card's ports, and the node that programs them
  };

  Vendor vendor = Vendor::kIntel;
  Mode mode = Mode::kAf;
  // "af-ce4.d84.zkiW...", "xilinx_u250_gen3x16_xdma_shell_4_1-0": only these devices. Empty: all.
  std::string profile{};
  // The family's name in a resource that stands for several profiles; empty: none. Filled in.
  std::string family{};
  bool operator==(const FpgaConfig&) const = default;
};

}  // namespace tessera
