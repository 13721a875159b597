// SPDX-License-Identifier: Apache-2.0
// The fake node as this process sees it: the GPUs that the fake NVML reads (nvml/hardware.h), as
// CUDA_VISIBLE_DEVICES selects and orders them, and options. Variables:
//
//   TESSERA_FAKE_NVML          the description; without: fake-nvml.yaml in the library's directory
//   TESSERA_FAKE_CUDA          the directory of the shared state; without: the description's
//   TESSERA_FAKE_CUDA_OPTIONS  "context-mib=256,late-ms=20", any of:
//     context-mib  memory that a context takes of its card
//     context-ms   time that making a context takes
//     late-ms      time for which a killed process's memory stays
//     jitter       percent by which a kernel may take longer than it says
//     module-mib   memory that a module's code takes
//     lazy         1: code loads when first used; 0: with its module
//     sms          multiprocessors of a GPU; 0: as many as its model has
//     cuda         another version than the description's, as 13000
//     no-uuid      the first calls of cuDeviceGetUuid that fail
//     moves-pages  1: host and device may use managed memory at once; 0: they may not
//     slice-us     a process's time slice; 0: kernels run first come, first served
//
// The process is a client of MPS if CUDA_MPS_PIPE_DIRECTORY has a daemon's "control". Then its
// kernels run beside those of other processes. CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is its part of the
// multiprocessors: at 50, its kernels take twice as long.
//
// cuInit reads all of this, once. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fake_cuda {

using Uuid = std::array<char, 16>;

struct Device {
  std::string uuid;  // the GPU's, or the MIG device's
  Uuid gpu_bytes{};  // the GPU's UUID
  Uuid bytes{};      // the device's own UUID
  std::string name;
  uint64_t memory = 0;  // bytes
  int multiprocessors = 0;
  int major = 0;
  int minor = 0;
  std::array<int, 3> pci{};  // domain, bus, device
  bool integrated = false;
  unsigned card = 0;  // its number in the shared state (state.h)
};

struct Options {
  uint64_t context_bytes = uint64_t{256} << 20;
  uint64_t context_ns = 0;
  uint64_t late_ns = 20'000'000;
  uint64_t jitter_percent = 0;
  uint64_t slice_ns = 0;
  uint64_t module_bytes = 0;
  uint64_t lazy = 0;
  uint64_t multiprocessors = 0;
  uint64_t version = 0;
  uint64_t unnamed = 0;
  uint64_t moves_pages = 1;
};

struct Node {
  std::vector<Device> devices;
  int version = 0;  // CUDA's, as 12080
  Options options;
  std::string directory;     // of the shared state
  unsigned mps_percent = 0;  // of the multiprocessors; 0: no client of MPS
};

// Throws std::runtime_error for a broken description or option.
Node ReadNode();

// The devices that CUDA_VISIBLE_DEVICES names, up to the first invalid name. A device named twice:
// none at all. `names` null: all GPUs, or the first MIG device if there is no other.
std::vector<Device> Visible(const std::vector<Device>& gpus, const std::vector<Device>& migs,
                            const char* names);
Options ParseOptions(const std::string& text);
// 1 to 100; 0: no client of MPS. `percentage`: the variable's value, or null.
unsigned MpsPercent(const std::string& pipe_directory, const char* percentage);

}  // namespace tessera::fake_cuda
