// SPDX-License-Identifier: Apache-2.0
// The file and the flags of the SR-IOV network device plugin, as a configuration that does the
// same. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compat/go_flags/go_flags.h"
#include "compat/rdma_shared/translate.h"
#include "config/schema/yaml.h"

namespace tessera::config::sriov {

std::span<const GoFlag> Flags();
inline constexpr char kFile[] = "/etc/pcidp/config.json";
inline constexpr char kPrefix[] = "intel.com";

// `prefix`: that of resources which name none.
rdma_shared::Translated Translate(Document document, std::string_view prefix);

}  // namespace tessera::config::sriov
