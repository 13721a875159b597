// SPDX-License-Identifier: Apache-2.0
// What a node's labels are made of: the configuration's part, and what NVML, sysfs and the firmware
// tell. A GPU that cannot be read is as it was when it last could, and left out until it first can:
// it costs no other's labels, and hangs on a thread of its own.
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

// What the configuration makes of GPUs: of several resources of whole GPUs the first counts. Pure.
LabelPolicy LabelPolicyOf(const config::Config& config);

// The driver's root of the first resource of GPUs. Pure.
std::string DriverRoot(const config::Config& config);
// When this reading of the configuration began, unless the configuration leaves that out.
std::optional<int64_t> TimestampOf(const config::Config& config);
// What the firmware calls the machine, by the file that says so.
std::optional<std::string> MachineIn(const os::Root& root, const std::string& file);
// What kind of device the PCI bus has at this address; nothing where it does not say.
std::optional<uint32_t> PciClass(const os::Root& root, const std::string& address);

// What NVML and sysfs say about the GPU of this index; its name must be there, and its MIG devices
// where it is divided. May hang with the GPU.
nvml::Answer<GpuFacts> ReadFacts(const nvml::Library& library, const os::Root& root,
                                 unsigned index);

// Adds what PCI tells of virtual GPUs: nothing where it may not be seen.
void ReadVgpu(const os::Root& root, NodeFacts& facts);

// GPUs as they were when they last could be read, by index. All labellers of a session share it, so
// that another configuration does not forget a GPU that is silent just then. Any thread.
class KnownGpus {
 public:
  explicit KnownGpus(const std::shared_ptr<nvml::Session>&) {}
  // Of a node that has so many: those that were read now.
  void Keep(unsigned count, std::map<unsigned, GpuFacts> read);
  std::map<unsigned, GpuFacts> All() const;

 private:
  mutable Mutex mutex_;
  std::map<unsigned, GpuFacts> gpus_ TESSERA_GUARDED_BY(mutex_);
};

class GpuLabeller : public Labeller {
 public:
  // The timestamp is that of now.
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
  std::map<unsigned, std::string> silent_;  // by index, why they cannot be read, as the log has it
};

}  // namespace tessera::nvidia
