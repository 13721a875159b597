// SPDX-License-Identifier: Apache-2.0
// The named nodes. Values are those of captures of real machines where there are such.
#include <fmt/core.h>

#include <array>

#include "amd/node.h"

namespace tessera::amd {
namespace {

struct Place {
  unsigned bus = 0;
  unsigned root = 0;  // the bus of its root complex
  uint32_t gpu_id = 0;
  uint64_t unique_id = 0;
};

// A root complex, its port and a switch are above the GPU.
void Put(SimGpu& gpu, unsigned domain, const Place& place) {
  gpu.address = fmt::format("{:04x}:{:02x}:00.0", domain, place.bus);
  gpu.bridges = {fmt::format("pci{:04x}:{:02x}", domain, place.root),
                 fmt::format("{:04x}:{:02x}:01.1", domain, place.root),
                 fmt::format("{:04x}:{:02x}:00.0", domain, place.root + 1),
                 fmt::format("{:04x}:{:02x}:00.0", domain, place.root + 2)};
  gpu.gpu_id = place.gpu_id;
  gpu.unique_id = place.unique_id;
}

// Each GPU has a block of 8 DRM minors; the BMC's display is card0.
void SetMinors(SimGpu& gpu, size_t index, int block) {
  gpu.card = 1 + block * static_cast<int>(index);
  gpu.render = 128 + block * static_cast<int>(index);
}

}  // namespace

SimNode Mi300x() {
  constexpr std::array<Place, 8> kPlaces = {{
      {0x05, 0x00, 51110, 16404946649897475633U},
      {0x27, 0x20, 38057, 2472748907779728154U},
      {0x47, 0x40, 60173, 15565237874008425757U},
      {0x65, 0x60, 8642, 12035684874187068538U},
      {0x85, 0x80, 24248, 15304831566906821053U},
      {0xa7, 0xa0, 45120, 13644590235195043050U},
      {0xc7, 0xc0, 17935, 13326531576914550249U},
      {0xe5, 0xe0, 3301, 15931900197903628278U},
  }};
  SimNode node;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    SimGpu gpu;
    Put(gpu, 0, kPlaces[i]);
    SetMinors(gpu, i, 8);
    gpu.product_name = "AMD Instinct MI300X OAM";
    gpu.hive_id = 15188982192727901047U;
    gpu.numa = i < 4 ? 0 : 1;
    gpu.memory = 206141652992U;
    gpu.simd_count = 1216;
    gpu.compute = "SPX";
    gpu.memory_mode = "NPS1";
    gpu.computes = {{"SPX", 1}, {"DPX", 2}, {"QPX", 4}, {"CPX", 8}};
    gpu.memory_modes = {"NPS1", "NPS4"};
    node.gpus.push_back(std::move(gpu));
  }
  node.lacks = {"7/7"};  // it would be card64, and the kernel ends at card63
  return node;
}

SimNode Mi300xCpx() {
  SimNode node = Mi300x();
  for (SimGpu& gpu : node.gpus) gpu.compute = "CPX";
  return node;
}

SimNode Mi300xSwitches() {
  SimNode node = Mi300x();
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    SimGpu& gpu = node.gpus[i];
    const size_t root = 0x10 + 0x20 * (i / 2);
    const size_t slot = i % 2;
    gpu.address = fmt::format("0000:{:02x}:00.0", root + 3 + slot);
    gpu.bridges = {fmt::format("pci0000:{:02x}", root), fmt::format("0000:{:02x}:01.0", root),
                   fmt::format("0000:{:02x}:00.0", root + 1),
                   fmt::format("0000:{:02x}:{:02x}.0", root + 2, slot)};
  }
  return node;
}

SimNode Mi300xVm() {
  SimNode node = Mi300x();
  for (size_t i = 0; i < node.gpus.size(); ++i) {
    SimGpu& gpu = node.gpus[i];
    gpu.address = fmt::format("0000:00:{:02x}.0", 1 + i);
    gpu.bridges = {"pci0000:00"};
    gpu.numa.reset();
  }
  return node;
}

SimNode Mi210() {
  constexpr std::array<Place, 8> kPlaces = {{
      {0x63, 0x60, 10210, 0x5a1e0c7d3f2b4810U},
      {0x43, 0x40, 11210, 0x5a1e0c7d3f2b4811U},
      {0x03, 0x00, 12210, 0x5a1e0c7d3f2b4812U},
      {0x26, 0x20, 13210, 0x5a1e0c7d3f2b4813U},
      {0xe3, 0xe0, 14210, 0x5a1e0c7d3f2b4814U},
      {0xc3, 0xc0, 15210, 0x5a1e0c7d3f2b4815U},
      {0x83, 0x80, 16210, 0x5a1e0c7d3f2b4816U},
      {0xa3, 0xa0, 17210, 0x5a1e0c7d3f2b4817U},
  }};
  SimNode node;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    SimGpu gpu;
    Put(gpu, 0, kPlaces[i]);
    SetMinors(gpu, i, 1);
    gpu.device_id = 0x740f;
    gpu.product_name = "AMD Instinct MI210";
    gpu.hive_id = i < 4 ? 12609507387757274807U : 18091350218769748594U;
    gpu.numa = i < 4 ? 0 : 1;
    gpu.memory = 68702699520U;
    gpu.simd_count = 416;
    gpu.gfx_target_version = 90010;
    gpu.chip.name = "aldebaran";
    gpu.chip.pci_class = "0x038000";
    gpu.chip.link_speed = "16.0 GT/s PCIe";
    gpu.chip.xccs = 1;
    gpu.chip.arrays = 8;
    gpu.chip.cus_per_array = 14;
    gpu.chip.xgmi_engines = 3;
    gpu.chip.clock_mhz = 1700;
    gpu.chip.memory_width = 4096;
    gpu.chip.memory_mhz = 1600;
    gpu.chip.xgmi_mb_s = 50000;
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

SimNode Mi308xCpx() {
  constexpr std::array<Place, 4> kPlaces = {{
      {0x0a, 0x00, 20308, 0x3e94b17c08d5f620U},
      {0x80, 0x70, 22308, 0x3e94b17c08d5f621U},
      {0xa4, 0xa0, 24308, 0x3e94b17c08d5f622U},
      {0xc8, 0xc0, 26308, 0x3e94b17c08d5f623U},
  }};
  SimNode node;
  for (size_t i = 0; i < 2 * kPlaces.size(); ++i) {
    const unsigned domain = i < kPlaces.size() ? 0 : 1;
    SimGpu gpu;
    Put(gpu, domain, kPlaces[i % kPlaces.size()]);
    gpu.gpu_id += 8000 * domain;
    gpu.unique_id += 0x10 * domain;
    SetMinors(gpu, i, 8);
    gpu.device_id = 0x74a2;
    gpu.product_name = "AMD Instinct MI308X OAM";
    gpu.hive_id = 2095653680343411291U;
    gpu.numa = static_cast<int>(domain);
    gpu.memory = 206158430208U;
    gpu.simd_count = 320;
    gpu.compute = "CPX";
    gpu.memory_mode = "NPS1";
    gpu.computes = {{"SPX", 1}, {"CPX", 4}};
    gpu.memory_modes = {"NPS1", "NPS4"};
    gpu.chip.xccs = 4;
    gpu.chip.arrays = 16;
    gpu.chip.xgmi_engines = 6;
    node.gpus.push_back(std::move(gpu));
  }
  node.lacks = {"7/7"};
  return node;
}

// No capture: its modes are the kernel's, and the sizes are those of the product.
SimNode Mi300a() {
  constexpr std::array<Place, 4> kPlaces = {{
      {0x01, 0x00, 30010, 0x61b0d24f7c9e8310U},
      {0x41, 0x40, 31010, 0x61b0d24f7c9e8311U},
      {0x81, 0x80, 32010, 0x61b0d24f7c9e8312U},
      {0xc1, 0xc0, 33010, 0x61b0d24f7c9e8313U},
  }};
  SimNode node;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    SimGpu gpu;
    Put(gpu, 0, kPlaces[i]);
    gpu.bridges.resize(1);  // of the package itself
    SetMinors(gpu, i, 8);
    gpu.device_id = 0x74a0;
    gpu.product_name = "AMD Instinct MI300A";
    gpu.hive_id = 7201384416093115702U;
    gpu.numa = static_cast<int>(i);
    gpu.memory = 137438953472U;
    gpu.simd_count = 912;
    gpu.compute = "SPX";
    gpu.memory_mode = "NPS1";
    gpu.computes = {{"SPX", 1}, {"TPX", 3}, {"CPX", 6}};
    gpu.memory_modes = {"NPS1"};
    gpu.chip.xccs = 6;
    gpu.chip.arrays = 24;
    gpu.chip.xgmi_engines = 10;
    node.gpus.push_back(std::move(gpu));
  }
  node.cpus = 4;
  node.cpu_cores = 48;
  return node;
}

SimNode Vega() {
  SimGpu gpu;
  Put(gpu, 0, {0x19, 0x16, 6400, 14073402507705256557U});
  gpu.card = 1;
  gpu.render = 129;
  gpu.device_id = 0x6860;
  gpu.numa = 0;
  gpu.memory = 17163091968U;
  gpu.simd_count = 256;
  gpu.gfx_target_version = 90000;
  gpu.old_kernel = true;
  gpu.chip.name = "vega10";
  gpu.chip.pci_class = "0x030000";
  gpu.chip.link_speed = "8.0 GT/s PCIe";
  gpu.chip.xccs = 1;
  gpu.chip.arrays = 4;
  gpu.chip.cus_per_array = 16;
  gpu.chip.xgmi_engines = 0;
  gpu.chip.waves_per_simd = 10;
  gpu.chip.clock_mhz = 1500;
  gpu.chip.memory_width = 2048;
  gpu.chip.memory_mhz = 945;
  SimNode node;
  node.gpus = {std::move(gpu)};
  return node;
}

SimNode Apu() {
  SimGpu gpu;
  gpu.address = "0000:c4:00.0";
  gpu.bridges = {"pci0000:00", "0000:00:08.1"};
  gpu.device_id = 0x15bf;
  gpu.gpu_id = 31043;
  gpu.render = 128;
  gpu.memory = 536870912;
  gpu.simd_count = 24;
  gpu.simd_per_cu = 2;
  gpu.gfx_target_version = 110003;
  gpu.has_ras = false;
  gpu.is_apu = true;
  gpu.chip.pci_class = "0x030000";
  gpu.chip.link_speed = "16.0 GT/s PCIe";
  gpu.chip.xccs = 1;
  gpu.chip.arrays = 2;
  gpu.chip.cus_per_array = 6;
  gpu.chip.sdma_engines = 1;
  gpu.chip.xgmi_engines = 0;
  gpu.chip.waves_per_simd = 16;
  gpu.chip.clock_mhz = 2700;
  gpu.chip.gtt_bytes = 16777216000U;
  SimNode node;
  node.gpus = {std::move(gpu)};
  node.cpus = 1;
  node.cpu_cores = 16;
  node.has_display = false;
  return node;
}

SimNode NamedNode(const std::string& name) {
  if (name == "mi300x") return Mi300x();
  if (name == "mi300x-cpx") return Mi300xCpx();
  if (name == "mi300x-switches") return Mi300xSwitches();
  if (name == "mi300x-vm") return Mi300xVm();
  if (name == "mi210") return Mi210();
  if (name == "mi308x-cpx") return Mi308xCpx();
  if (name == "mi300a") return Mi300a();
  if (name == "vega") return Vega();
  if (name == "apu") return Apu();
  throw BadChange("there is no node " + name +
                  "; there are mi300x, mi300x-cpx, mi300x-switches, mi300x-vm, mi210, mi308x-cpx, "
                  "mi300a, vega and apu");
}

}  // namespace tessera::amd
