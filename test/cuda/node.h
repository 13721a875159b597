// SPDX-License-Identifier: Apache-2.0
// What this process sees of the fake node: the GPUs of the description that the fake NVML reads
// (nvml/hardware.h), in CUDA's order and as CUDA_VISIBLE_DEVICES has it, and the options:
//
//   TESSERA_FAKE_NVML          the description; else fake-nvml.yaml beside the library
//   TESSERA_FAKE_CUDA          the directory of what processes share; else the description's
//   TESSERA_FAKE_CUDA_OPTIONS  "context-mib=256,late-ms=20", any of:
//     context-mib  what a context takes of its card
//     context-ms   what making one takes of time
//     late-ms      for how long a killed process still has its memory
//     jitter       kernels take up to so many percent longer than they say
//     module-mib   what the code of a module takes
//     lazy         1: not before its first function is asked for or used; 0: when it is loaded
//     sms          how many multiprocessors a GPU has; 0: as many as its model
//     cuda         another version than the description's, as 13000
//     no-uuid      so many times no device is named
//     moves-pages  1: managed memory may be used by both sides at once; 0: it may not
//     slice-us     what one process has of a card before another's turn; 0: first come, first
//     served
//
// A client of MPS it is where CUDA_MPS_PIPE_DIRECTORY has a daemon's "control": its kernels run
// beside those of other processes, on as many multiprocessors as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
// says, and so much longer.
//
// Read once, by cuInit. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fake_cuda {

using Uuid = std::array<char, 16>;

struct Device {
  std::string uuid;  // its own: of the MIG device, where it is one
  Uuid gpu_bytes{};  // of the GPU
  Uuid bytes{};      // its own
  std::string name;
  uint64_t memory = 0;
  int multiprocessors = 0;
  int major = 0;
  int minor = 0;
  std::array<int, 3> pci{};  // domain, bus, device
  bool integrated = false;
  unsigned card = 0;  // of the state
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
  int version = 0;  // of CUDA, 12080
  Options options;
  std::string directory;
  unsigned mps_percent = 0;  // of the multiprocessors; 0: it is no client of MPS
};

// Throws std::runtime_error: what is broken and where.
Node ReadNode();

// Of all that there are, those that CUDA_VISIBLE_DEVICES names, up to the first that is none.
std::vector<Device> Visible(const std::vector<Device>& gpus, const std::vector<Device>& migs,
                            const char* names);
Options ParseOptions(const std::string& text);
// Of 1 to 100; 0: no client. `percentage` is null, or what the variable says.
unsigned MpsPercent(const std::string& pipe_directory, const char* percentage);

}  // namespace tessera::fake_cuda
