// SPDX-License-Identifier: Apache-2.0
// The vendors whose devices a site's scheduler places, with the site's resource names. Each has a
// row (vendor.h) with its request rules. Some vendors have a row per chip model; the model's word
// is in all its annotations. The table owns all texts that its rows refer to. Immutable once made;
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hami/vendor.h"
#include "placement/placement.h"
#include "placement/requests.h"

namespace tessera::hami {

// Families other than NVIDIA, in alphabetical order.
inline constexpr std::array<std::string_view, 7> kFamilies = {
    "amd", "ascend", "biren", "hygon", "iluvatar", "vastai", "xpu"};

using ChipTemplate = PartTemplate;

// A site's settings for one row.
struct VendorConfig {
  std::string family{};  // of kFamilies
  std::string word{};    // the model, "Ascend910B3", "MR-V100"; empty: one row for all
  // Resources; empty: none.
  std::string count{};
  std::string memory{};
  std::string cores{};
  int32_t memory_factor = 1;  // MiB that a request for 1 `memory` counts
  // For chips that templates divide, in MiB: the memory that can be granted, and the whole memory.
  int32_t allocatable = 0;
  int32_t capacity = 0;
  std::vector<ChipTemplate> templates{};
  bool pairs = false;  // devices are granted in pairs
  std::string runtime_class{};
  bool hides_devices = false;  // from containers that ask for none
  bool operator==(const VendorConfig&) const = default;
};

// The defaults of HAMi's chart; empty for other families.
std::vector<VendorConfig> UsualConfigs(std::string_view family);

// A vendor whose devices are placed. The default is NVIDIA with its chart's names. `vendor`
// outlives it.
struct ServedVendor {
  const Vendor* vendor = &kNvidia;
  RequestRules rules = RulesOf(std::string(vendor->count), vendor->Requests());
  // The rules of pods in kModeCore, if they differ.
  std::optional<RequestRules> core_rules{};
  // Templates with their memory.
  std::vector<ChipTemplate> templates{};

  // The rules for the mode in the pod's annotation.
  const RequestRules& RulesIn(std::string_view mode) const {
    return core_rules && mode == kModeCore ? *core_rules : rules;
  }
};

class VendorTable {
 public:
  // The most rows: CandidateDevice numbers them in a byte, and each pod is compared with every row.
  static constexpr size_t kMost = 60;

  explicit VendorTable(const std::vector<VendorConfig>& configs);
  VendorTable(const VendorTable&) = delete;
  VendorTable& operator=(const VendorTable&) = delete;

  // In the configurations' order.
  const std::vector<ServedVendor>& rows() const { return rows_; }

 private:
  std::string_view Keep(std::string text);
  void SetNames(const VendorConfig& config, Vendor& vendor);

  std::deque<std::string> texts_;
  std::deque<Vendor> vendors_;
  std::vector<ServedVendor> rows_;
};

// The rows of the Ascend models of HAMi's chart, which last for ever.
const std::vector<ServedVendor>& AscendRows();
// The row of "Ascend910B3"; null: there is none.
const ServedVendor* AscendRow(std::string_view word);

// Those whose devices our agent registers.
const std::vector<const Vendor*>& AgentVendors();

}  // namespace tessera::hami
