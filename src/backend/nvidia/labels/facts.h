// SPDX-License-Identifier: Apache-2.0
// The input of a node's labels: the configuration, NVML, sysfs and the firmware. A GPU that cannot
// be read keeps its last facts; one that was never read is left out. A hanging GPU keeps one worker
// thread and delays no other's labels.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/labeller.h"
#include "backend/nvidia/core/reading.h"
#include "backend/nvidia/labels/labels.h"
#include "backend/nvidia/nvml/nvml.h"
#include "config/schema/config.h"
#include "os/files.h"
#include "os/worker.h"

namespace tessera::nvidia {

// The labels' part of the configuration. The first of several resources of whole GPUs counts. Pure.
LabelPolicy LabelPolicyOf(const config::Config& config);

// The driver's root of the first resource of GPUs. Pure.
std::string DriverRoot(const config::Config& config);
// The time of this reading of the configuration; null: the configuration leaves the label out.
std::optional<int64_t> TimestampOf(const config::Config& config);
// The firmware's name of the machine, from that file.
std::optional<std::string> MachineIn(const os::Root& root, const std::string& file);
// The PCI class of the device at this address; null: unknown.
std::optional<uint32_t> PciClass(const os::Root& root, const std::string& address);

// Reads the GPU of this index from NVML and sysfs. Its name is required, and its MIG devices if it
// is divided. May hang with the GPU.
nvml::Answer<GpuFacts> ReadFacts(const nvml::Library& library, const os::Root& root,
                                 unsigned index);

// Adds facts about virtual GPUs from PCI. They stay unset where the configuration space is not
// readable.
void ReadVgpu(const os::Root& root, NodeFacts& facts);

// The last facts of each GPU, by index. All labellers of a session share it, so that a new
// configuration keeps the facts of a GPU that is silent then. Any thread.
class KnownGpus {
 public:
  explicit KnownGpus(const std::shared_ptr<nvml::Session>&) {}
  // Stores the GPUs read now, of a node with `count` GPUs.
  void Keep(unsigned count, std::map<unsigned, GpuFacts> read);
  std::map<unsigned, GpuFacts> All() const;

 private:
  mutable Mutex mutex_;
  std::map<unsigned, GpuFacts> gpus_ TESSERA_GUARDED_BY(mutex_);
};

class GpuLabeller : public Labeller {
 public:
  // Takes the present time as the timestamp.
  explicit GpuLabeller(const config::Config& config);

  // kDriverMissing, kTimedOut, kReleased, kScanFailed.
  Result<Labels> Read() override;
  Labels WithoutDevices() override;

 private:
  using GpuReading = Reading<nvml::Answer<GpuFacts>>;
  nvml::Answer<std::vector<GpuFacts>> ReadGpus(const nvml::LibraryPtr& library, unsigned count);
  void TellSilent(std::map<unsigned, std::string> silent,
                  const std::map<unsigned, GpuFacts>& known);

  const os::Root root_;
  const std::string machine_file_;
  const LabelPolicy policy_;
  const std::optional<int64_t> timestamp_;
  const std::shared_ptr<nvml::Session> session_;
  const std::shared_ptr<KnownGpus> known_;
  os::Workers readers_;
  std::map<unsigned, std::shared_ptr<GpuReading>> readings_;  // by index, the last of each GPU
  std::map<unsigned, std::string> silent_;  // by index, the reason that was logged
};

}  // namespace tessera::nvidia
