// SPDX-License-Identifier: Apache-2.0
#include "hami/vendor_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tessera::hami {
namespace {

constexpr int kIluvatarUnit = 256;                                      // MiB
constexpr std::array<int32_t, 3> kXpuSizes = {24'576, 49'152, 98'304};  // MiB

constexpr Vendor kHygon = {.word = "DCU",
                           .node_register = "hami.io/node-dcu-register",
                           .node_register_format = Vendor::Register::kText,
                           .node_handshake = "hami.io/node-handshake-dcu",
                           .pod_to_allocate = "hami.io/dcu-devices-to-allocate",
                           .pod_allocated = "hami.io/dcu-devices-allocated",
                           .use_type = "hygon.com/use-dcutype",
                           .no_use_type = "hygon.com/nouse-dcutype",
                           .use_id = "hygon.com/use-gpuuuid",
                           .no_use_id = "hygon.com/nouse-gpuuuid"};

constexpr Vendor kVastai = {.word = "Vastai",
                            .node_register = "hami.io/node-va-register",
                            .node_handshake = "hami.io/node-handshake-va",
                            .pod_to_allocate = "hami.io/Vastai-devices-to-allocate",
                            .pod_allocated = "hami.io/Vastai-devices-allocated",
                            .use_type = "vastaitech.com/use-va",
                            .no_use_type = "vastaitech.com/nouse-va",
                            .use_id = "vastaitech.com/use-gpuuuid",
                            .no_use_id = "vastaitech.com/nouse-gpuuuid",
                            .together = Together::kOneGroup,
                            .group_key = "AIC",
                            .group_if_key = "DeviceStrategy",
                            .group_if_value = "die"};

constexpr Vendor kBiren = {.word = "Biren",
                           .node_register = "hami.io/node-biren-register",
                           .node_handshake = "hami.io/node-handshake-biren",
                           .pod_to_allocate = "hami.io/Biren-devices-to-allocate",
                           .pod_allocated = "hami.io/Biren-devices-allocated",
                           .use_type = "birentech.com/use-biren",
                           .no_use_type = "birentech.com/nouse-biren",
                           .use_id = "birentech.com/use-gpuuuid",
                           .no_use_id = "birentech.com/nouse-gpuuuid"};

constexpr Vendor kXpu = {.word = "XPU",
                         .node_register = "hami.io/node-register-xpu",
                         .node_handshake = "hami.io/node-handshake-xpu",
                         .pod_to_allocate = "hami.io/xpu-devices-to-allocate",
                         .pod_allocated = "hami.io/xpu-devices-allocated",
                         .use_id = "hami.io/use-xpu-uuid",
                         .no_use_id = "hami.io/no-use-xpu-uuid",
                         .traits = {.equal_parts = true}};

// A prototype of one model; SetNames adds the model's word to its names.
constexpr Vendor kIluvatar = {.node_register_format = Vendor::Register::kText,
                              .memory_unit = kIluvatarUnit,
                              .name_variable = "SOL_CONTINER_NAME"};  // HAMi's spelling

constexpr Vendor kAscend = {.node_mode = "hami-vnpu-core",
                            .reports = true,
                            .register_board = "NetworkID",
                            .register_cores = "aicores",
                            .registers_numa = false,
                            .pod_time = "predicate-time",
                            .use_mode = "huawei.com/vnpu-mode",
                            .usual_mode = kModeTemplate,
                            .hiding_variable = "ASCEND_VISIBLE_DEVICES"};

struct Prototype {
  std::string_view family;
  const Vendor* row;
};
// In the order of kFamilies.
constexpr std::array<Prototype, kFamilies.size()> kPrototypes = {{{"amd", &kAmd},
                                                                  {"ascend", &kAscend},
                                                                  {"biren", &kBiren},
                                                                  {"hygon", &kHygon},
                                                                  {"iluvatar", &kIluvatar},
                                                                  {"vastai", &kVastai},
                                                                  {"xpu", &kXpu}}};

const Vendor& PrototypeOf(std::string_view family) {
  return *std::ranges::find(kPrototypes, family, &Prototype::family)->row;
}

// Memory is granted by templates or as a whole. Pods in kModeCore may have any size.
void SetTemplates(const VendorConfig& config, ServedVendor& row) {
  row.rules.count_step = config.pairs ? 2 : 1;
  row.core_rules = row.rules;
  row.rules.several_whole = true;
  row.rules.cores_need = fmt::format("the pod's annotation {}: {}", kAscend.use_mode, kModeCore);
  if (config.allocatable <= 0) return;
  row.templates = config.templates;
  std::ranges::sort(row.templates, {}, &ChipTemplate::memory);
  for (const ChipTemplate& one : row.templates) {
    if (one.memory < config.allocatable) row.rules.sizes.push_back(one.memory);
  }
  row.rules.sizes.push_back(config.allocatable);
  row.rules.most_memory = std::max(config.capacity, config.allocatable);
}

// Sets the peculiarities of a family's requests.
void SetPeculiar(const VendorConfig& config, ServedVendor& row) {
  RequestRules& rules = row.rules;
  if (config.family == "ascend") return SetTemplates(config, row);
  if (config.family == "amd" || config.family == "hygon") rules.default_cores = kAllCores;
  rules.several_whole = config.family == "hygon";
  rules.several_cores = config.family == "iluvatar";
  if (config.family == "xpu") {
    rules.sizes = {kXpuSizes.begin(), kXpuSizes.end()};
    rules.most_memory = kXpuSizes.back();
  }
}

VendorConfig Chip(std::string_view word, int32_t allocatable, std::vector<ChipTemplate> templates) {
  const std::string count = fmt::format("huawei.com/{}", word);
  return {.family = "ascend",
          .word = std::string(word),
          .count = count,
          .memory = count + "-memory",
          .cores = count + "-core",
          .allocatable = allocatable,
          .capacity = allocatable,
          .templates = std::move(templates)};
}

std::vector<VendorConfig> AscendConfigs() {
  std::vector<VendorConfig> chips = {
      Chip("Ascend910A", 32'768,
           {{"vir02", 2'184}, {"vir04", 4'369}, {"vir08", 8'738}, {"vir16", 17'476}}),
      Chip("Ascend910B2", 65'536,
           {{"vir03_1c_8g", 8'192}, {"vir06_1c_16g", 16'384}, {"vir12_3c_32g", 32'768}}),
      Chip("Ascend910B3", 65'536, {{"vir05_1c_16g", 16'384}, {"vir10_3c_32g", 32'768}}),
      // These are the driver's names. HAMi's chart has others, with half the memory (HAMi #1497).
      Chip("Ascend910B4-1", 65'536, {{"vir05_1c_8g", 16'384}, {"vir10_3c_16g", 32'768}}),
      Chip("Ascend910B4", 32'768, {{"vir05_1c_8g", 8'192}, {"vir10_3c_16g", 16'384}}),
      Chip("Ascend310P", 21'527, {{"vir01", 3'072}, {"vir02", 6'144}, {"vir04", 12'288}}),
      Chip("Ascend910C", 65'536, {{"vir05_1c_16g", 16'384}, {"vir10_3c_32g", 32'768}})};
  chips[5].capacity = 24'576;
  chips[6].pairs = true;
  return chips;
}

std::vector<VendorConfig> IluvatarConfigs() {
  std::vector<VendorConfig> chips;
  for (const char* word : {"MR-V100", "MR-V50", "BI-V150", "BI-V100"}) {
    chips.push_back({.family = "iluvatar",
                     .word = word,
                     .count = fmt::format("iluvatar.ai/{}-vgpu", word),
                     .memory = fmt::format("iluvatar.ai/{}.vMem", word),
                     .cores = fmt::format("iluvatar.ai/{}.vCore", word)});
  }
  return chips;
}

}  // namespace

std::vector<VendorConfig> UsualConfigs(std::string_view family) {
  if (family == "ascend") return AscendConfigs();
  if (family == "iluvatar") return IluvatarConfigs();
  VendorConfig config{.family = std::string(family)};
  if (family == "amd") {
    config.count = "amd.com/gpu";
    config.memory = "amd.com/gpumem";
    config.cores = "amd.com/gpucores";
  } else if (family == "hygon") {
    config.count = "hygon.com/dcunum";
    config.memory = "hygon.com/dcumem";
    config.cores = "hygon.com/dcucores";
  } else if (family == "biren") {
    config.count = "birentech.com/gpu";
  } else if (family == "vastai") {
    config.count = "vastaitech.com/va";
  } else if (family == "xpu") {
    config.count = "kunlunxin.com/vxpu";
    config.memory = "kunlunxin.com/vxpu-memory";
  } else {
    return {};
  }
  return {config};
}

VendorTable::VendorTable(const std::vector<VendorConfig>& configs) {
  rows_.reserve(configs.size());  // rows refer to each other's templates
  for (const VendorConfig& config : configs) {
    Vendor& vendor = vendors_.emplace_back(PrototypeOf(config.family));
    SetNames(config, vendor);
    ServedVendor& row = rows_.emplace_back(ServedVendor{.vendor = &vendor});
    SetPeculiar(config, row);
    vendor.templates = row.templates;
  }
}

std::string_view VendorTable::Keep(std::string text) {
  return texts_.emplace_back(std::move(text));
}

void VendorTable::SetNames(const VendorConfig& config, Vendor& vendor) {
  vendor.count = Keep(config.count);
  vendor.memory = Keep(config.memory);
  vendor.cores = Keep(config.cores);
  vendor.memory_unit *= std::max(config.memory_factor, 1);
  const std::string& word = config.word;
  if (word.empty()) return;
  const bool chip = config.family == "ascend";
  vendor.word = Keep(word);
  vendor.node_register = Keep(chip ? fmt::format("hami.io/node-register-{}", word)
                                   : fmt::format("hami.io/node-{}-register", word));
  vendor.node_handshake = Keep(fmt::format("hami.io/node-handshake-{}", word));
  vendor.pod_to_allocate = Keep(fmt::format("hami.io/{}-devices-to-allocate", word));
  vendor.pod_allocated = Keep(fmt::format("hami.io/{}-devices-allocated", word));
  vendor.use_id = Keep(fmt::format("hami.io/use-{}-uuid", word));
  vendor.no_use_id = Keep(fmt::format("hami.io/no-use-{}-uuid", word));
  if (!chip) return;
  vendor.pod_devices_json = Keep(fmt::format("huawei.com/{}", word));
  if (config.pairs) vendor.together = Together::kPairs;
  if (!word.starts_with("Ascend910")) {
    vendor.register_board = {};
    return;
  }
  if (config.pairs) return;
  // Such chips are on two boards of four, with links on each board.
  vendor.several_closest = true;
  vendor.group_key = vendor.register_board;
  vendor.second_board = 4;
}

const std::vector<ServedVendor>& AscendRows() {
  static const VendorTable table(AscendConfigs());
  return table.rows();
}

const ServedVendor* AscendRow(std::string_view word) {
  const auto row = std::ranges::find_if(
      AscendRows(), [&](const ServedVendor& one) { return one.vendor->word == word; });
  return row == AscendRows().end() ? nullptr : &*row;
}

const std::vector<const Vendor*>& AgentVendors() {
  static const std::vector<const Vendor*> vendors = [] {
    std::vector<const Vendor*> all = {&kNvidia, &kAmd};
    for (const ServedVendor& row : AscendRows()) all.push_back(row.vendor);
    return all;
  }();
  return vendors;
}

}  // namespace tessera::hami
