// SPDX-License-Identifier: Apache-2.0
// A node with NVIDIA GPUs, below a directory, for tests: the fake driver's library, device nodes
// (as plain files) and sysfs. The test owns it, and removes the directory. Functions throw
// std::runtime_error. One thread.
#pragma once

#include <string>

#include "nvml/hardware.h"

namespace tessera {

class NvidiaNode {
 public:
  // Makes the directory, and installs the driver. `hardware`: a file of demo/hardware, without
  // ".yaml".
  NvidiaNode(std::string directory, const std::string& hardware);

  // Installs the driver's library. `lacking`: a function that it must not have, as in an old
  // driver.
  void InstallDriver(const std::string& lacking = "");
  void RemoveDriver();
  // Replaces the node's description (YAML, hardware.h).
  void SetHardware(const std::string& yaml);
  // Divides the GPU. `mig`: the value of the key "mig" in its description.
  void SetMig(size_t gpu, const std::string& mig);
  // Unplugs the GPUs from `count` on, or plugs further ones like the last in the description.
  void SetGpus(size_t count);
  // Replaces the faults (YAML, faults.h); empty: none.
  void SetFaults(const std::string& yaml);
  std::string faults_path() const;

  const std::string& directory() const { return directory_; }
  const nvml::Hardware& hardware() const { return hardware_; }

 private:
  const std::string directory_;
  std::string description_;
  nvml::Hardware hardware_;
};

}  // namespace tessera
