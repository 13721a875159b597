// SPDX-License-Identifier: Apache-2.0
// Programming of Intel's regions. Intel's hook does it: a program of the node that the container
// runtime runs before a container starts. It programs the accelerator function that variables of
// the container name (FPGA_REGION_n, FPGA_AFU_n). Here each grant gets the hook, and the
// annotation without which the hook programs nothing.
// Any thread.
#pragma once

#include "backend/preparer.h"

namespace tessera::fpga {

class Programming final : public Preparer {
 public:
  // Where Intel's init container puts the hook on the node.
  static constexpr char kHook[] = "/opt/intel/fpga-sw/intel-fpga-crihook";
  // A container's annotation, as Intel's plugin sets it.
  static constexpr char kAnnotation[] = "com.intel.fpga.mode";
  static constexpr char kAnnotationValue[] = "fpga.intel.com/region";

  const char* name() const override { return "fpga"; }
  Result<Prepared> Prepare(const PrepareRequest& request) override;
  // The next grant's hook programs the region anew.
  Status Unprepare(const UnprepareRequest&) override { return {}; }
};

}  // namespace tessera::fpga
