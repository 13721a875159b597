// SPDX-License-Identifier: Apache-2.0
// What other kinds of devices cost beside the dummy kind with as many devices: from exec to the
// first list, and memory at rest. The shipped binary reads a simulated node. Prints a table.
// usage: bench_kinds [start | memory]...
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "amd/node.h"
#include "ascend/node.h"
#include "bench/wire/table.h"
#include "fpga/node.h"
#include "rdma/node.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;

constexpr char kSettings[] = "advertise: {debounce: 1ms}\n";

// The devices of a node with AMD GPUs.
MakeServed Amd(amd::SimNode (*make)()) {
  return [make](const std::string& directory) {
    const amd::AmdNode node(directory + "/node", make());
    Served served{.resource = "amd.com/gpu",
                  .variable = "",
                  .section = "amd: {}",
                  .settings = fmt::format("rootPrefix: {}/node\n{}", directory, kSettings)};
    size_t index = 0;
    for (const amd::SimGpu& gpu : node.node().gpus) {
      const int parts = amd::Partitions(gpu);
      for (int part = 0; part < parts; ++part) {
        const bool lacks =
            std::ranges::count(node.node().lacks, fmt::format("{}/{}", index, part)) > 0;
        if (parts > 1 && lacks) continue;
        served.ids.push_back(parts == 1 ? gpu.address : fmt::format("{}-{}", gpu.address, part));
        served.numa.push_back(gpu.numa.value_or(-1));
      }
      ++index;
    }
    return served;
  };
}

// What the agent is to serve of a node below the directory.
Served Section(const std::string& directory, std::string resource, std::string section) {
  return {.resource = std::move(resource),
          .variable = "",
          .section = std::move(section),
          .settings = fmt::format("rootPrefix: {}/node\n{}", directory, kSettings)};
}

Served Ascend(const std::string& directory) {
  const ascend::AscendNode node(directory + "/node", ascend::Eight910b3());
  Served served = Section(directory, "huawei.com/Ascend910B3", "ascend: {}");
  for (const ascend::SimChip& chip : node.node().chips) {
    std::string id;
    for (const uint32_t part : chip.die) id += fmt::format("{}{:08X}", id.empty() ? "" : "-", part);
    served.ids.push_back(std::move(id));
    served.numa.push_back(chip.numa);
  }
  return served;
}

// A thousand virtual functions.
Served Functions(const std::string& directory) {
  const rdma::RdmaNode node(directory + "/node", rdma::Many());
  Served served = Section(directory, "example.com/vf", "rdma: {function: vf}");
  for (const rdma::SimNic& nic : node.node().nics) {
    for (int vf = 0; vf < nic.vfs; ++vf) {
      served.ids.push_back(rdma::VfAddress(nic, vf));
      served.numa.push_back(nic.numa.value_or(-1));
    }
  }
  return served;
}

Served Cards(const std::string& directory) {
  const rdma::RdmaNode node(directory + "/node", rdma::Pairs());
  Served served = Section(directory, "rdma/hca", "rdma: {}");
  for (const rdma::SimNic& nic : node.node().nics) {
    served.ids.push_back(nic.address);
    served.numa.push_back(nic.numa.value_or(-1));
  }
  return served;
}

Served Fpgas(const std::string& directory) {
  const fpga::FpgaNode node(directory + "/node", fpga::Pac());
  Served served = Section(directory, "example.com/fpga", "fpga: {vendor: intel}");
  for (const fpga::SimIntel& card : node.node().intel) {
    for (const fpga::SimPort& port : card.ports) {
      served.ids.push_back(fmt::format("{}-{}", card.address, port.number));
      served.numa.push_back(card.numa);
    }
  }
  return served;
}

struct Node {
  std::string text;
  MakeServed served;
  int count;
};
const Node kNodes[] = {
    {"8 AMD GPUs", Amd(amd::Mi300x), 8}, {"63 partitions of AMD GPUs", Amd(amd::Mi300xCpx), 63},
    {"8 Ascend NPUs", Ascend, 8},        {"8 network cards", Cards, 8},
    {"3 functions of FPGAs", Fpgas, 3},  {"1,000 virtual functions", Functions, 1'000}};

void BenchStart() {
  for (const Node& node : kNodes) {
    constexpr int kRounds = 20;
    std::vector<double> times[2];
    for (int round = 0; round < kRounds; ++round) {
      times[0].push_back(Subject(Kind::kTessera, node.served).Start().count());
      times[1].push_back(Subject(Kind::kTessera, Npus(node.count, kSettings)).Start().count());
    }
    for (auto& each : times) std::ranges::sort(each);
    Line(fmt::format("exec to first list, {}", node.text), times[0][kRounds / 2],
         times[1][kRounds / 2], "ms", "dummy");
  }
}

// By then the memory that only the start needed has been given back. The code of a fake driver's
// library is not the agent's.
constexpr std::chrono::seconds kUntilRest{20};

void BenchMemory() {
  for (const Node& node : kNodes) {
    Subject kind(Kind::kTessera, node.served);
    Subject dummy(Kind::kTessera, Npus(node.count, kSettings));
    kind.Start();
    dummy.Start();
    std::this_thread::sleep_for(kUntilRest);
    Line(fmt::format("memory at rest, {}", node.text), kind.rss_mb() - kind.driver_mb(),
         dummy.rss_mb(), "MB", "dummy");
  }
}

const std::vector<Part> kParts = {{"start", BenchStart}, {"memory", BenchMemory}};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::RunParts(argc, argv, tessera::bench::kParts);
}
