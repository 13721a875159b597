// SPDX-License-Identifier: Apache-2.0
// The files of a node with AMD GPUs, below a directory: sysfs, KFD's topology and device nodes (as
// plain files). Links are relative, so they hold below any directory. Any thread, but only one for
// each directory. A file that changes is replaced by renaming.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::amd {

// What KFD and the PCI bus say about a kind of GPU. Counts are those of the whole GPU.
struct SimChip {
  std::string name = "ip discovery";  // KFD's
  std::string pci_class = "0x120000";
  std::string link_speed = "32.0 GT/s PCIe";
  int xccs = 8, arrays = 32, cus_per_array = 10;
  int sdma_engines = 2, xgmi_engines = 14;
  int waves_per_simd = 8;
  int clock_mhz = 2100;
  int memory_width = 8192, memory_mhz = 1300;
  int xgmi_mb_s = 64000;                // between whole GPUs
  uint64_t gtt_bytes = 1080863910912U;  // system memory that the GPU may use
};

// One GPU of the node.
struct SimGpu {
  std::string address;               // "0000:05:00.0"
  std::vector<std::string> bridges;  // from the root complex down: {"pci0000:00", "0000:00:01.1"}
  uint32_t device_id = 0x74a1;
  std::string product_name;  // "AMD Instinct MI300X OAM"; empty: no file
  uint64_t unique_id = 0;    // 0: no file, 0 in KFD
  uint64_t hive_id = 0;
  std::optional<int> numa;   // nullopt: the file has "-1"
  uint32_t gpu_id = 0;       // KFD's, of the first partition; the next ones follow
  int card = 0, render = 0;  // the first DRM minors of its block
  uint64_t memory = 0;       // bytes
  int simd_count = 0, simd_per_cu = 4, gfx_target_version = 90402;
  std::string compute;      // current partition "SPX"; empty: no partition files
  std::string memory_mode;  // "NPS1"; empty: none
  // Available modes and the number of partitions of each: {{"SPX", 1}, {"CPX", 8}}.
  std::vector<std::pair<std::string, int>> computes;
  std::vector<std::string> memory_modes;  // "NPS1", "NPS4"
  bool has_ras = true;
  bool is_apu = false;      // its KFD node has CPU cores and SIMDs
  bool old_kernel = false;  // no domain, gfx version, hive and num_xcc in KFD
  // "vfio-pci": absent from amdgpu's driver directory, no DRM, no KFD node. Empty: no driver.
  std::string driver = "amdgpu";
  SimChip chip;
};

struct SimNode {
  std::vector<SimGpu> gpus;
  int cpus = 2;
  int cpu_cores = 96;       // of each CPU, as KFD counts them
  bool has_display = true;  // the BMC's, which is card0 and has no render node
  // Before the number of a partition's platform device. Some drivers of ROCm 6.4 write
  // "amdgpu_xcp.3".
  char xcp_separator = '_';
  // Partitions whose DRM device never comes up, in any mode: "7/7" is the last one of the last GPU.
  std::vector<std::string> lacks;
};

SimNode Mi300x();     // 8 GPUs, SPX, NPS1
SimNode Mi300xCpx();  // the same GPUs in CPX: 63 partitions
// The same GPUs, two behind each of four switches, whose two other ports are free for network
// cards; and the same in a virtual machine: one root complex, no NUMA nodes.
SimNode Mi300xSwitches();
SimNode Mi300xVm();
SimNode Mi210();      // 8 GPUs without partitions, in two hives
SimNode Mi308xCpx();  // 8 GPUs with 4 partitions each, in two PCI domains
SimNode Mi300a();     // 4 GPUs, each with a CPU in its package; 3 or 6 partitions
SimNode Vega();       // a GPU of an old kernel
SimNode Apu();        // a consumer's processor
// By its name: mi300x, mi300x-cpx, mi300x-switches, mi300x-vm, mi210, mi308x-cpx, mi300a, vega,
// apu. Throws BadChange.
SimNode NamedNode(const std::string& name);

// The GPU's directory: "/sys/devices/pci0000:00/.../0000:05:00.0".
std::string DevicePath(const SimGpu& gpu);
// The number of its partitions in its current mode.
int Partitions(const SimGpu& gpu);

// The node has no such GPU, mode, block or name.
struct BadChange : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Owns the files that it writes, but does not remove them. Functions throw std::runtime_error. A
// change does what hardware does: KFD numbers its nodes anew and generation_id grows, once before
// the nodes change and once after.
class AmdNode {
 public:
  AmdNode(std::string directory, SimNode node);
  // Takes over the tree that another process made of this node by the changes in `past`.
  AmdNode(std::string directory, SimNode node, const std::function<void(AmdNode&)>& past);
  AmdNode(AmdNode&&) noexcept;
  AmdNode& operator=(AmdNode&&) = delete;
  ~AmdNode();

  void SetCompute(size_t gpu, const std::string& mode);  // "CPX"
  // As after the driver was loaded again: "NPS4". It is the mode of all GPUs.
  void SetMemoryMode(const std::string& mode);
  // Its KFD nodes and its driver's links go, and its config space reads 0xff. What else the driver
  // made stays, as do its nodes in /dev/dri.
  void Lose(size_t gpu);
  void Unplug(size_t gpu);  // everything goes but its bridges
  void Return(size_t gpu);
  void SetRas(size_t gpu, const std::string& block, uint64_t uncorrected, uint64_t corrected);
  // The driver resets it: meanwhile it does not say how it is divided. Error counts and memory
  // modes stay. The streams of all its partitions tell of it (events.h).
  void BeginReset(size_t gpu);
  void EndReset(size_t gpu);
  // A line of its first partition's stream: "1 2f:python" is a program's fault, "2 4:1" throttling.
  void TellEvent(size_t gpu, const std::string& line);
  void SetBusy(size_t gpu, int percent);
  void SetMemoryUsed(size_t gpu, uint64_t bytes);
  void SetTemperature(size_t gpu, int celsius);
  void SetDriver(size_t gpu, const std::string& driver);
  // No module, KFD or DRM. Loading the driver sets the error counters to 0, but for umc.
  void RemoveDriver();
  void InstallDriver();

  const SimNode& node() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::amd
