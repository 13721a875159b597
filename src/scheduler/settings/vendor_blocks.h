// SPDX-License-Identifier: Apache-2.0
// The blocks of HAMi's device-config.yaml that are of other vendors than NVIDIA and whose devices
// are placed here: how a site names their resources and divides their chips. A key that is left out
// is as in HAMi's chart. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/findings.h"
#include "config/schema/yaml.h"
#include "hami/vendor_table.h"

namespace tessera::scheduler {

// Charts leave nothing behind a key whose value they were not given.
bool IsEmpty(const config::Node& value);

// Of hami::kFamilies; empty: a block of this name is none of theirs.
std::string_view FamilyOfBlock(std::string_view name);
// Empty where the block has nothing. What is of a wrong type, or no name of a resource, is told.
std::vector<hami::VendorConfig> ReadVendorBlock(std::string_view name, const config::Node& block,
                                                const config::Document& document,
                                                config::Findings& findings);

// What stays with HAMi's scheduler: "cambricon", and of a block that is served in part the
// resource; empty: nothing.
std::string LeftOfBlock(std::string_view name, const config::Node& block);

}  // namespace tessera::scheduler
