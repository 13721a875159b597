// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/labels.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "backend/sysfs.h"
#include "base/characters.h"
#include "base/text.h"

namespace tessera::amd {
namespace {

constexpr char kModule[] = "/sys/module/amdgpu";
constexpr std::string_view kPrefix = "amd.com/gpu.";
constexpr std::string_view kBetaPrefix = "beta.amd.com/gpu.";

// The driver's name for a generation of chips.
std::string_view FamilyOf(uint64_t gfx_version) {
  const uint64_t generation = gfx_version / 10'000;
  if (generation >= 10) return "NV";
  if (generation == 9) return "AI";
  if (generation == 8) return "VI";
  return generation == 7 ? "CI" : "";
}

std::string_view YesOrNo(bool yes) {
  return yes ? "true" : "false";
}

// The values of one GPU by the labels' suffixes; empty values are left out.
std::map<std::string, std::string> ValuesOf(const Gpu& gpu, const Driver& driver) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  std::map<std::string, std::string> values = {
      {"driver-version", driver.version},
      {"driver-src-version", driver.source_version},
      {"device-id", gpu.device_id},
      {"product-name", gpu.product},
      {"compute-memory-partition", gpu.compute.empty() ? "" : gpu.Profile()},
      {"compute-partitioning-supported", std::string(YesOrNo(gpu.divides_compute))},
      {"memory-partitioning-supported", std::string(YesOrNo(gpu.divides_memory))},
      {"mode", "container"}};
  if (gpu.memory > 0) values["vram"] = fmt::format("{}G", (gpu.memory + kGib / 2) / kGib);
  if (!gpu.parts.empty()) {
    const KfdNode& kfd = gpu.parts.front().kfd;
    values["family"] = FamilyOf(kfd.gfx_version);
    values["simd-count"] = std::to_string(kfd.simds);
    if (kfd.cus() > 0) values["cu-count"] = std::to_string(kfd.cus());
  }
  return values;
}

// The number that a text begins with, of at most 32 bits.
std::optional<uint32_t> Leading(std::string_view text, int base) {
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string LabelValue(std::string_view text) {
  constexpr size_t kLongest = 63;
  std::string value;
  for (const char c : text) {
    if (c == ' ') value += '_';
    if (IsAlphanumeric(c) || c == '-' || c == '_' || c == '.') value += c;
  }
  if (value.size() > kLongest) value.resize(kLongest);
  while (!value.empty() && !IsAlphanumeric(value.back())) value.pop_back();
  const auto first = std::ranges::find_if(value, IsAlphanumeric);
  return {first, value.end()};
}

Labels LabelsOf(const std::vector<Gpu>& gpus, const Driver& driver) {
  std::map<std::string, std::map<std::string, size_t>> counted;  // GPUs by suffix and value
  for (const Gpu& gpu : gpus) {
    for (const auto& [suffix, text] : ValuesOf(gpu, driver)) {
      const std::string value = LabelValue(text);
      if (!value.empty()) ++counted[suffix][value];
    }
  }
  Labels labels;
  for (const std::string_view prefix : {kPrefix, kBetaPrefix}) {
    for (const auto& [suffix, values] : counted) {
      const std::string key = fmt::format("{}{}", prefix, suffix);
      if (values.size() == 1) labels[key] = values.begin()->first;
      if (values.size() == 1 && prefix == kPrefix) continue;
      for (const auto& [value, count] : values) {
        // The part of a key behind its prefix may be as long as a value.
        const std::string name = LabelValue(fmt::format("gpu.{}.{}", suffix, value));
        labels[std::string(prefix.substr(0, prefix.size() - 4)) + name] = std::to_string(count);
      }
    }
  }
  return labels;
}

Labels FirmwareLabels(const std::vector<std::string>& texts) {
  constexpr std::string_view kBlocks[] = {"VCE", "UVD", "MC",  "ME",  "PFP",
                                          "CE",  "RLC", "MEC", "SMC", "SDMA0"};
  constexpr std::string_view kFeature = " feature version: ", kVersion = ", firmware version: 0x";
  std::map<std::string, size_t> counted;
  for (const std::string& line : Split(Join(texts, "\n"), '\n')) {
    const size_t feature = line.find(kFeature), version = line.find(kVersion);
    if (feature == std::string::npos || version == std::string::npos) continue;
    const std::string block = line.substr(0, feature);
    if (std::ranges::count(kBlocks, block) == 0) continue;
    const auto number = Leading(line.substr(feature + kFeature.size()), 10);
    const auto code = Leading(line.substr(version + kVersion.size()), 16);
    if (number) ++counted[fmt::format("{}.feat.{}", block, *number)];
    if (code) ++counted[fmt::format("{}.fw.{}", block, *code)];
  }
  Labels labels;
  for (const auto& [name, count] : counted) {
    labels[fmt::format("{}firmware.{}", kBetaPrefix, name)] = std::to_string(count);
  }
  return labels;
}

Result<Labels> AmdLabeller::Read() {
  auto read = ReadGpus(root_, Depth::kPlace);
  if (!read) {
    if (!expected_ || HasNoGpu(root_)) return Labels();
    return Fail(read.error());
  }
  for (Gpu& gpu : read->gpus) {
    auto& [compute, memory_mode] = modes_[gpu.address];
    if (gpu.trouble && gpu.compute.empty()) {
      gpu.compute = compute;
      gpu.memory_mode = memory_mode;
    } else {
      compute = gpu.compute;
      memory_mode = gpu.memory_mode;
    }
  }
  const std::string module = root_.Path(kModule);
  Labels labels = LabelsOf(read->gpus, {.version = sysfs::Text(module + "/version"),
                                        .source_version = sysfs::Text(module + "/srcversion")});
  std::vector<std::string> firmware;
  for (const Gpu& gpu : read->gpus) {
    if (gpu.parts.empty() || !gpu.parts.front().card) continue;
    firmware.push_back(sysfs::Text(root_.Path(
        fmt::format("/sys/kernel/debug/dri/{}/amdgpu_firmware_info", *gpu.parts.front().card))));
  }
  labels.merge(FirmwareLabels(firmware));
  return labels;
}

}  // namespace tessera::amd
