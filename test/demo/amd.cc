// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "amd/changes.h"
#include "amd/node.h"
#include "amd/record.h"
#include "base/characters.h"
#include "demo/simulator.h"

namespace tessera::amd {
namespace {

using demo::Lines;

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), ToLower);
  return text;
}

// The GPU, then its partitions.
Lines DevicesOf(const SimNode& node, size_t index) {
  const SimGpu& gpu = node.gpus[index];
  const std::string model =
      gpu.product_name.empty() ? fmt::format("AMD GPU {:#06x}", gpu.device_id) : gpu.product_name;
  Lines lines = {fmt::format("{} {} {} {}", index, gpu.address, gpu.memory >> 20U, model)};
  const int parts = Partitions(gpu);
  for (int part = 0; parts > 1 && part < parts; ++part) {
    if (std::ranges::count(node.lacks, fmt::format("{}/{}", index, part)) > 0) continue;
    lines.push_back(fmt::format("{}:{} {}-{} 0 {}_{}", index, part, gpu.address, part,
                                Lower(gpu.compute), Lower(gpu.memory_mode)));
  }
  return lines;
}

Lines DevicesOf(const SimNode& node) {
  Lines lines;
  for (size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    for (std::string& line : DevicesOf(node, gpu)) lines.push_back(std::move(line));
  }
  return lines;
}

// The GPUs of changes that the node can make.
std::set<size_t> GpusOf(const std::vector<Words>& changes, size_t count) {
  std::set<size_t> gpus;
  for (const Words& change : changes) {
    if (change.size() > 1 && change.front() != "memory") {
      gpus.insert(std::stoul(change[1]));
      continue;
    }
    for (size_t gpu = 0; gpu < count; ++gpu) gpus.insert(gpu);
  }
  return gpus;
}

// The devices before and after.
Lines TouchedBy(const std::vector<Words>& changes, const SimNode& before, const SimNode& after) {
  Lines touched;
  for (const size_t gpu : GpusOf(changes, after.gpus.size())) {
    demo::Unite(touched, DevicesOf(before, gpu));
    demo::Unite(touched, DevicesOf(after, gpu));
  }
  return touched;
}

Lines MakeNode(const std::string& directory, const std::string& name, bool only_ask) {
  const Record record{name};
  SimNode node = NamedNode(name);
  Lines devices = DevicesOf(node);
  if (only_ask) return devices;
  const AmdNode made(directory, std::move(node));
  WriteRecord(directory, record);
  return devices;
}

Lines Change(const std::string& directory, const Words& words, bool only_ask) {
  Record record = ReadRecord(directory).value();
  const std::vector<Words> changes = ParseChanges(words);
  AmdNode node = TakeOver(directory, record);
  const SimNode before = node.node();
  record.changes.insert(record.changes.end(), changes.begin(), changes.end());
  const AmdNode then = TakeOver(directory, record);  // throws before anything has changed
  if (!only_ask) {
    for (const Words& change : changes) Apply(node, change);
    WriteRecord(directory, record);
  }
  return TouchedBy(changes, before, then.node());
}

}  // namespace
}  // namespace tessera::amd

const tessera::demo::Simulator tessera::demo::kAmd = {"amd", amd::MakeNode, amd::Change};
