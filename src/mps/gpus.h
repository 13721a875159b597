// SPDX-License-Identifier: Apache-2.0
// The node's GPUs, as the driver has them now. Read waits for a hanging GPU once. Later calls list
// it as unread without a wait, until it answers again. Blocks, as the driver does, within limits.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/core/nvidia_config.h"
#include "backend/nvidia/core/reading.h"
#include "backend/nvidia/nvml/nvml.h"
#include "base/result.h"
#include "mps/sizes.h"
#include "os/files.h"

namespace tessera::mps {

class Gpus {
 public:
  // `driver_root`: where the driver is below `root`, as the resource's configuration has it.
  Gpus(const os::Root& root, std::string driver_root);

  // Reads all GPUs. kDriverMissing; kMpsUnfit on WSL and Tegra, which have no MPS.
  Status Read();
  // The sizes for clients of the resource's daemon, by the last reading.
  Sizes SizesOf(const std::string& resource, int replicas, const NvidiaConfig& config) const;

 private:
  struct Facts {
    nvidia::Gpu gpu;
    uint64_t memory_mib = 0;  // 0: not known
    int capability = 0;       // 75 for 7.5
  };
  using FactsReading = nvidia::Reading<Result<Facts>>;

  static Result<Facts> ReadOne(const nvml::Library& library, const os::Root& root, unsigned index);
  static std::vector<FoundDevice> FoundIn(const os::Root& root, const std::string& resource,
                                          const NvidiaConfig& config, const Facts& facts);
  Status Begin(const nvml::LibraryPtr& library, unsigned index);

  const os::Root root_;
  const std::string driver_root_;
  std::map<unsigned, std::shared_ptr<FactsReading>> under_way_;  // by index, as unread_
  std::vector<Facts> facts_;                                     // of the GPUs that were read
  std::map<unsigned, std::string> unread_;                       // the reason
  size_t count_ = 0;
};

}  // namespace tessera::mps
