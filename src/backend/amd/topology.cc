// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include <optional>

#include "backend/sysfs.h"
#include "base/text.h"

namespace tessera::amd {
namespace {

constexpr char kTopology[] = "/sys/class/kfd/kfd/topology";

using Properties = std::map<std::string, uint64_t, std::less<>>;

uint64_t Of(const Properties& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

Properties PropertiesAt(const std::string& directory) {
  return ParseProperties(sysfs::Text(directory + "/properties"));
}

// The GPU's address and the number of the partition. The kernel writes the partition's number into
// the bits of the function, so a driver's GPU at that function goes first. Old kernels have no
// domain: the only GPU at that bus and device is meant.
std::pair<std::string, unsigned> PlaceOf(const Properties& properties,
                                         const std::vector<std::string>& addresses) {
  const uint64_t location = Of(properties, "location_id");
  const unsigned function = location & 7;
  const std::string device =
      fmt::format("{:02x}:{:02x}.", (location >> 8) & 0xff, (location >> 3) & 0x1f);
  std::string slot = fmt::format("{:04x}:{}", Of(properties, "domain") & 0xffff, device);
  if (!properties.contains("domain")) {
    std::vector<std::string> fitting;
    std::ranges::copy_if(addresses, std::back_inserter(fitting), [&](const std::string& address) {
      return address.ends_with(device + "0");
    });
    if (fitting.size() == 1) slot = fitting.front().substr(0, fitting.front().size() - 1);
  }
  const std::string exact = slot + std::to_string(function);
  if (function != 0 && std::ranges::count(addresses, exact) > 0) return {exact, 0};
  return {slot + "0", function};
}

// The memory that is public, or the node's own number on kernels that have it.
uint64_t MemoryOf(const std::string& directory, const Properties& properties) {
  constexpr uint64_t kPublic = 1, kPrivate = 2;
  uint64_t memory = 0;
  for (const std::string& bank : sysfs::Names(directory + "/mem_banks")) {
    const Properties of_bank = PropertiesAt(fmt::format("{}/mem_banks/{}", directory, bank));
    const uint64_t type = Of(of_bank, "heap_type");
    if (type == kPublic || type == kPrivate) memory += Of(of_bank, "size_in_bytes");
  }
  return memory > 0 ? memory : Of(properties, "local_mem_size");
}

void AddLinks(const std::string& directory, KfdNode& node) {
  for (const std::string& link : sysfs::Names(directory)) {
    const Properties properties = PropertiesAt(directory + "/" + link);
    if (!properties.contains("node_to")) continue;
    node.links.try_emplace(static_cast<unsigned>(Of(properties, "node_to")),
                           KfdLink{.type = Of(properties, "type")});
  }
}

// Nothing: it has no SIMDs, such as a CPU.
std::optional<KfdNode> ReadNode(const std::string& directory, unsigned number,
                                const Properties& properties,
                                const std::vector<std::string>& addresses, Depth depth) {
  if (Of(properties, "simd_count") == 0 || Of(properties, "drm_render_minor") == 0) {
    return std::nullopt;
  }
  const auto [address, partition] = PlaceOf(properties, addresses);
  KfdNode node{.number = number,
               .gpu_id = sysfs::Number<uint64_t>(sysfs::Text(directory + "/gpu_id")).value_or(0),
               .address = address,
               .partition = partition,
               .render = static_cast<int>(Of(properties, "drm_render_minor") & 0xfffff),
               .simds = Of(properties, "simd_count"),
               .simds_per_cu = Of(properties, "simd_per_cu"),
               .gfx_version = Of(properties, "gfx_target_version"),
               .hive = Of(properties, "hive_id"),
               .unique_id = Of(properties, "unique_id")};
  if (depth == Depth::kPlace) return node;
  node.memory = MemoryOf(directory, properties);
  // XGMI and the links to CPUs are in the first directory; links over PCIe in the second.
  AddLinks(directory + "/io_links", node);
  AddLinks(directory + "/p2p_links", node);
  return node;
}

Result<Topology> ReadOnce(const os::Root& root, const std::vector<std::string>& addresses,
                          Depth depth) {
  const std::string nodes = root.Path(std::string(kTopology) + "/nodes");
  Topology topology{.generation = ReadGeneration(root)};
  for (const std::string& name : TRY(os::ListDirectory(nodes))) {
    const auto number = sysfs::Number<uint64_t>(name);
    if (!number) continue;
    const std::string directory = nodes + "/" + name;
    const Properties properties = PropertiesAt(directory);
    if (properties.empty()) {
      ++topology.denied;
      continue;
    }
    auto node = ReadNode(directory, static_cast<unsigned>(*number), properties, addresses, depth);
    if (node) topology.nodes.push_back(*std::move(node));
  }
  return topology;
}

}  // namespace

Properties ParseProperties(std::string_view text) {
  Properties properties;
  for (const std::string& line : Split(text, '\n')) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const auto number = sysfs::Number<uint64_t>(Trim(std::string_view(line).substr(space)));
    if (number) properties.insert_or_assign(line.substr(0, space), *number);
  }
  return properties;
}

std::string GfxName(uint64_t version) {
  if (version == 0) return "";
  return fmt::format("gfx{}{}{:x}", version / 10'000, version / 100 % 100, version % 100);
}

uint64_t ReadGeneration(const os::Root& root) {
  return sysfs::Number<uint64_t>(sysfs::Text(root.Path(std::string(kTopology) + "/generation_id")))
      .value_or(0);
}

Result<Topology> ReadTopology(const os::Root& root, const std::vector<std::string>& addresses,
                              Depth depth) {
  constexpr int kTries = 3;
  Topology topology = TRY(ReadOnce(root, addresses, depth));
  for (int tried = 1; tried < kTries && ReadGeneration(root) != topology.generation; ++tried) {
    topology = TRY(ReadOnce(root, addresses, depth));
  }
  return topology;
}

}  // namespace tessera::amd
