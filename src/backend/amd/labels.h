// SPDX-License-Identifier: Apache-2.0
// Labels of a node with AMD GPUs, by the names of ROCm's node labeller: "amd.com/gpu.vram" and the
// older "beta.amd.com/gpu.vram". A value that only some GPUs have is in the key, with their number:
// "amd.com/gpu.vram.192G" is "4". The older form always has this label as well. Only that form
// has firmware: "beta.amd.com/gpu.firmware.ME.feat.29", where debugfs can be read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/amd/gpus.h"
#include "backend/labeller.h"
#include "os/files.h"

namespace tessera::amd {

// What labels say of the driver.
struct Driver {
  std::string version{};         // "6.12.12"
  std::string source_version{};  // "8EB2E6E2B2A7C3D4E5F6A7B"
};

// Pure.
Labels LabelsOf(const std::vector<Gpu>& gpus, const Driver& driver);
// Of the texts of amdgpu_firmware_info, one of each GPU: the blocks that ROCm's labeller names.
// Pure.
Labels FirmwareLabels(const std::vector<std::string>& texts);
// A label's value of any text: spaces become "_", other characters that labels cannot have are left
// out. Pure.
std::string LabelValue(std::string_view text);

// Called by one thread at a time, on any thread.
class AmdLabeller : public Labeller {
 public:
  // `expected`: a missing driver is an error, if the bus has a GPU.
  AmdLabeller(os::Root root, bool expected) : root_(std::move(root)), expected_(expected) {}
  Result<Labels> Read() override;
  Labels WithoutDevices() override { return {}; }

 private:
  const os::Root root_;
  const bool expected_;
  // How each GPU is divided, by address. A driver that resets it does not say: it is as it was.
  std::map<std::string, std::pair<std::string, std::string>> modes_;
};

}  // namespace tessera::amd
