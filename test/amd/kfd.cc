// SPDX-License-Identifier: Apache-2.0
// KFD's topology: CPUs first, then GPUs and partitions in the order in which they came.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "amd/state.h"

namespace tessera::amd {
namespace {

constexpr char kNodes[] = "/sys/class/kfd/kfd/topology/nodes";

constexpr std::array<std::string_view, 38> kProperties = {
    "cpu_cores_count",
    "simd_count",
    "mem_banks_count",
    "caches_count",
    "io_links_count",
    "p2p_links_count",
    "cpu_core_id_base",
    "simd_id_base",
    "max_waves_per_simd",
    "lds_size_in_kb",
    "gds_size_in_kb",
    "num_gws",
    "wave_front_size",
    "array_count",
    "simd_arrays_per_engine",
    "cu_per_simd_array",
    "simd_per_cu",
    "max_slots_scratch_cu",
    "gfx_target_version",
    "vendor_id",
    "device_id",
    "location_id",
    "domain",
    "drm_render_minor",
    "hive_id",
    "num_sdma_engines",
    "num_sdma_xgmi_engines",
    "num_sdma_queues_per_engine",
    "num_cp_queues",
    "max_engine_clk_fcompute",
    "local_mem_size",
    "fw_version",
    "capability",
    "debug_prop",
    "sdma_fw_version",
    "unique_id",
    "num_xcc",
    "max_engine_clk_ccompute",
};
constexpr std::array<std::string_view, 4> kNotInOldKernels = {"gfx_target_version", "domain",
                                                              "hive_id", "num_xcc"};

using Values = std::map<std::string_view, uint64_t>;  // what is not in it is 0

// A node of the topology. An APU is a CPU and a GPU.
struct Member {
  std::optional<int> cpu;
  std::optional<Partition> partition{};
};

struct Link {
  int type = 0, weight = 0, min_mb_s = 0, max_mb_s = 0;
  bool is_indirect = false;  // in p2p_links
};
constexpr int kHyperTransport = 1;
constexpr int kPcie = 2;
constexpr int kXgmi = 11;

uint64_t Unsigned(int value) {
  return static_cast<uint64_t>(value);
}

int SocketOf(const SimGpu& gpu) {
  return gpu.numa.value_or(0);
}

const SimGpu& GpuOf(const NodeState& state, const Member& member) {
  return state.node.gpus[member.partition->gpu];
}

std::vector<Member> MembersOf(const NodeState& state) {
  std::vector<Member> members;
  for (int cpu = 0; cpu < state.node.cpus; ++cpu) members.push_back({cpu});
  for (const Partition& partition : state.kfd) {
    const SimGpu& gpu = state.node.gpus[partition.gpu];
    if (gpu.is_apu) {
      members[static_cast<size_t>(SocketOf(gpu))].partition = partition;
    } else {
      members.push_back({std::nullopt, partition});
    }
  }
  return members;
}

Link Between(const SimGpu& a, const SimGpu& b) {
  if (&a == &b) return {kXgmi, 13, 819200, 819200};
  if (a.hive_id == 0 || a.hive_id != b.hive_id) {
    return {kPcie, SocketOf(a) == SocketOf(b) ? 52 : 72, 0, 0, true};
  }
  if (Partitions(a) > 1 || Partitions(b) > 1) return {kXgmi, 41, 0, 0};
  return {kXgmi, 15, a.chip.xgmi_mb_s, a.chip.xgmi_mb_s};
}

Link Between(const NodeState& state, const Member& a, const Member& b) {
  if (a.cpu && b.cpu) return {kHyperTransport, 32, 0, 0};
  if (!a.cpu && !b.cpu) return Between(GpuOf(state, a), GpuOf(state, b));
  const int socket = SocketOf(GpuOf(state, a.cpu ? b : a));
  // To the other socket it is the way to the CPU and the way between the CPUs: 20 + 32.
  if (socket == (a.cpu ? *a.cpu : *b.cpu)) return {kPcie, 20, 0, 64000};
  return {kPcie, 52, 0, 0, true};
}

std::string Text(const Link& link, size_t from, size_t to, bool is_old) {
  return fmt::format(
      "type {}\nversion_major 0\nversion_minor 0\nnode_from {}\nnode_to {}\nweight {}\n"
      "min_latency 0\nmax_latency 0\nmin_bandwidth {}\nmax_bandwidth {}\n"
      "recommended_transfer_size 0\n{}flags 1\n",
      link.type, from, to, link.weight, link.min_mb_s, link.max_mb_s,
      is_old ? "" : "recommended_sdma_engine_id_mask 0\n");
}

// "0000:05:00.0" as KFD has it: the function's bits are the partition's index.
struct Location {
  uint64_t domain = 0, id = 0;
};
Location LocationOf(const SimGpu& gpu, int partition) {
  const auto part = [&](size_t at, size_t size) {
    return std::stoul(gpu.address.substr(at, size), nullptr, 16);
  };
  return {part(0, 4), (part(5, 2) << 8U) + (part(8, 2) << 3U) + Unsigned(partition)};
}

// What each partition has its share of.
void SetShares(const SimGpu& gpu, Values& values) {
  const int partitions = Partitions(gpu);
  const auto share = [&](int of_all) { return Unsigned(of_all / partitions); };
  values["simd_count"] = share(gpu.simd_count);
  values["array_count"] = share(gpu.chip.arrays);
  values["num_xcc"] = share(gpu.chip.xccs);
  values["num_sdma_engines"] = Unsigned(gpu.chip.sdma_engines);
  values["num_sdma_xgmi_engines"] = Unsigned(std::max(
      0, (gpu.chip.sdma_engines + gpu.chip.xgmi_engines) / partitions - gpu.chip.sdma_engines));
}

// These are the same for every GPU of the node.
void SetConstants(Values& values) {
  values["mem_banks_count"] = 1;
  values["caches_count"] = 80;
  values["lds_size_in_kb"] = 64;
  values["num_gws"] = 64;
  values["wave_front_size"] = 64;
  values["simd_arrays_per_engine"] = 1;
  values["max_slots_scratch_cu"] = 32;
  values["vendor_id"] = 4098;
  values["num_sdma_queues_per_engine"] = 8;
  values["num_cp_queues"] = 24;
  values["fw_version"] = 177;
  values["capability"] = 2893521536;
  values["debug_prop"] = 1511;
  values["sdma_fw_version"] = 24;
}

void SetGpu(const SimGpu& gpu, int partition, size_t node, Values& values) {
  SetConstants(values);
  SetShares(gpu, values);
  const Location location = LocationOf(gpu, partition);
  values["simd_id_base"] = 2147488064U + (node - std::min<size_t>(node, 2)) * values["simd_count"];
  values["max_waves_per_simd"] = Unsigned(gpu.chip.waves_per_simd);
  values["cu_per_simd_array"] = Unsigned(gpu.chip.cus_per_array);
  values["simd_per_cu"] = Unsigned(gpu.simd_per_cu);
  values["gfx_target_version"] = Unsigned(gpu.gfx_target_version);
  values["device_id"] = gpu.device_id;
  values["location_id"] = location.id;
  values["domain"] = location.domain;
  values["drm_render_minor"] = Unsigned(gpu.render + partition);
  values["hive_id"] = gpu.hive_id;
  values["max_engine_clk_fcompute"] = Unsigned(gpu.chip.clock_mhz);
  values["local_mem_size"] = gpu.old_kernel ? gpu.memory : 0;
  values["unique_id"] = gpu.unique_id;
}

std::string Text(const Values& values, bool is_old) {
  std::string text;
  for (std::string_view name : kProperties) {
    if (is_old && std::ranges::count(kNotInOldKernels, name) > 0) continue;
    const auto value = values.find(name);
    text += fmt::format("{} {}\n", name, value == values.end() ? 0 : value->second);
  }
  return text;
}

std::string MemoryOf(const NodeState& state, const Member& member) {
  static constexpr char kLines[] =
      "heap_type {}\nsize_in_bytes {}\nflags 0\nwidth {}\nmem_clk_max {}\n";
  // The memory of a CPU is that of its GPU, too.
  if (member.cpu) return fmt::format(kLines, 0, 540431955456U, 64, 4800);
  const SimGpu& gpu = GpuOf(state, member);
  return fmt::format(kLines, 1, gpu.memory / Unsigned(Partitions(gpu)), gpu.chip.memory_width,
                     gpu.chip.memory_mhz);
}

void AddNode(Tree& tree, const NodeState& state, const std::vector<Member>& members, size_t at,
             bool is_old) {
  const Member& member = members[at];
  const std::string node = fmt::format("{}/{}", kNodes, at);
  uint64_t direct = 0;
  uint64_t indirect = 0;
  for (size_t to = 0; to < members.size(); ++to) {
    if (to == at) continue;
    const Link link = Between(state, member, members[to]);
    tree.AddFile(
        fmt::format("{}/{}/{}/properties", node, link.is_indirect ? "p2p_links" : "io_links",
                    link.is_indirect ? indirect++ : direct++),
        Text(link, at, to, is_old));
  }
  Values values = {{"mem_banks_count", 1}, {"max_engine_clk_ccompute", 2750}};
  values["io_links_count"] = direct;
  values["p2p_links_count"] = indirect;
  if (member.cpu) values["cpu_cores_count"] = Unsigned(state.node.cpu_cores);
  uint64_t gpu_id = 0;
  if (member.partition) {
    const SimGpu& gpu = GpuOf(state, member);
    SetGpu(gpu, member.partition->index, at, values);
    gpu_id = gpu.gpu_id + Unsigned(member.partition->index);
  }
  tree.AddFile(node + "/properties", Text(values, is_old));
  tree.AddLine(node + "/gpu_id", std::to_string(gpu_id));
  tree.AddLine(node + "/name", member.partition ? GpuOf(state, member).chip.name : "");
  tree.AddFile(node + "/mem_banks/0/properties", MemoryOf(state, member));
  for (const char* directory : {"/caches", "/io_links", "/p2p_links"}) {
    tree.AddDirectory(node + directory);
  }
}

}  // namespace

Tree Topology(const NodeState& state) {
  Tree tree;
  if (!state.has_driver) return tree;
  tree.AddFile("/sys/class/kfd/kfd/topology/system_properties",
               "platform_oem 0\nplatform_id 0\nplatform_rev 2\n");
  const bool is_old = std::ranges::any_of(state.node.gpus, &SimGpu::old_kernel);
  const std::vector<Member> members = MembersOf(state);
  for (size_t at = 0; at < members.size(); ++at) AddNode(tree, state, members, at, is_old);
  return tree;
}

}  // namespace tessera::amd
