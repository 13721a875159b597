// SPDX-License-Identifier: Apache-2.0
// Reads the blocks of placed vendors other than NVIDIA in HAMi's device-config.yaml: resource names
// and chip partitions. A missing key has the value of HAMi's chart. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/findings.h"
#include "config/schema/yaml.h"
#include "hami/vendor_table.h"

namespace tessera::scheduler {

// A chart writes a key with no value if the value is not set.
bool IsEmpty(const config::Node& value);

// The family in hami::kFamilies. Empty if `name` is no block of theirs.
std::string_view FamilyOfBlock(std::string_view name);
// Empty if the block is empty. A wrong type or an invalid resource name becomes a finding.
std::vector<hami::VendorConfig> ReadVendorBlock(std::string_view name, const config::Node& block,
                                                const config::Document& document,
                                                config::Findings& findings);

// The part that HAMi's scheduler still places: "cambricon", or the resource of a partly supported
// block. Empty: none.
std::string LeftOfBlock(std::string_view name, const config::Node& block);

}  // namespace tessera::scheduler
