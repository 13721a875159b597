// SPDX-License-Identifier: Apache-2.0
// The files of a node with NVIDIA GPUs, below a directory: the fake driver's library, device nodes
// (as plain files) and what sysfs tells about NUMA. Throws std::runtime_error. For one thread.
#pragma once

#include <string>

#include "nvml/hardware.h"

namespace tessera {

class NvidiaNode {
 public:
  // `hardware` is a file of demo/hardware, without its ".yaml"; `directory` is made.
  NvidiaNode(std::string directory, const std::string& hardware);

  // The driver's library, which is installed from the beginning; with `lacking` one that does not
  // have this function.
  void InstallDriver(const std::string& lacking = "");
  void RemoveDriver();
  // Another node from now on, as YAML describes it (hardware.h).
  void SetHardware(const std::string& yaml);
  // Another division of this GPU: what stands behind "mig:" in its description.
  void SetMig(size_t gpu, const std::string& mig);
  // So many GPUs: those at the end are unplugged, or further ones like the last plugged.
  void SetGpus(size_t count);
  // What is wrong from now on: YAML, see faults.h; empty: nothing.
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
