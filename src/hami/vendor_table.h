// SPDX-License-Identifier: Apache-2.0
// The vendors whose devices a site's scheduler places, and how the site names their resources: a
// row of each (vendor.h) with the rules of its requests. Some have a row for each model of chip,
// named by a word that stands in all its annotations. Whoever has the table has all that its rows
// refer to. Immutable once it is made; any thread.
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

// Those besides NVIDIA, in the order in which people read them.
inline constexpr std::array<std::string_view, 7> kFamilies = {
    "amd", "ascend", "biren", "hygon", "iluvatar", "vastai", "xpu"};

// A size in which parts of a chip can be had, as its driver knows it.
struct ChipTemplate {
  std::string name;
  int32_t memory = 0;  // MiB
  bool operator==(const ChipTemplate&) const = default;
};

// What a site says of the devices of one row.
struct VendorConfig {
  std::string family{};  // of kFamilies
  std::string word{};    // of a model, "Ascend910B3", "MR-V100"; empty: there is one row
  // Resources; empty: there is none.
  std::string count{};
  std::string memory{};
  std::string cores{};
  int32_t memory_factor = 1;  // MiB that a request for one of `memory` counts
  // Of a chip that is divided by templates, MiB: what of it can be had, and what it has.
  int32_t allocatable = 0;
  int32_t capacity = 0;
  std::vector<ChipTemplate> templates{};
  bool pairs = false;  // devices go by two
  std::string runtime_class{};
  bool hides_devices = false;  // from containers that ask for none
  bool operator==(const VendorConfig&) const = default;
};

// As HAMi's chart has them. None of another family.
std::vector<VendorConfig> UsualConfigs(std::string_view family);

// A vendor whose devices are placed; NVIDIA, by the names of its chart, where nothing is said. What
// it refers to outlives it.
struct ServedVendor {
  const Vendor* vendor = &kNvidia;
  RequestRules rules = RulesOf(std::string(vendor->count), vendor->Requests());
  // Of pods that ask for devices in kModeCore, where those are asked for otherwise.
  std::optional<RequestRules> core_rules{};
  // Names of templates by their memory.
  std::vector<ChipTemplate> templates{};

  // By the mode that the pod's annotation names.
  const RequestRules& RulesIn(std::string_view mode) const {
    return core_rules && mode == kModeCore ? *core_rules : rules;
  }
};

class VendorTable {
 public:
  // Rows: the kinds of devices are numbered in a byte (CandidateDevice), and a pod is held against
  // each of them.
  static constexpr size_t kMost = 60;

  explicit VendorTable(const std::vector<VendorConfig>& configs);
  VendorTable(const VendorTable&) = delete;
  VendorTable& operator=(const VendorTable&) = delete;

  // In the order of the configurations.
  const std::vector<ServedVendor>& rows() const { return rows_; }

 private:
  std::string_view Keep(std::string text);
  void SetNames(const VendorConfig& config, Vendor& vendor);

  std::deque<std::string> texts_;
  std::deque<Vendor> vendors_;
  std::vector<ServedVendor> rows_;
};

}  // namespace tessera::hami
