// SPDX-License-Identifier: Apache-2.0
// Makes devices of Ascend chips and their vNPUs: ids, nodes, nearness, and the resource that each
// belongs to. Pure but for lookups of files below the root. Any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ascend/ascend_config.h"
#include "backend/ascend/chips.h"
#include "backend/ascend/vnpu_records.h"
#include "device/device.h"

namespace tessera::ascend {

// A device, and where it is.
struct Found {
  Device device;
  dcmi::Place place{};
  std::string die{};  // the chip's; empty: none
  uint32_t logic = 0, physical = 0;
  std::optional<uint32_t> vnpu{};  // an administrator's
};

// A chip's Device::order is its physical number times this: more than a chip has vNPUs.
inline constexpr int kOrderStep = 64;

// The AI cores of a template, by its name: 10 of "vir10_3c_32g". 0: it is none.
unsigned TemplateCores(std::string_view name);

// Chips with one number have the fastest links, by HAMi's rule.
int NetworkOf(const Chip& chip);

// The devices of a resource. `own`: the vNPUs that the agent has made. `before`: the devices of the
// scan before, by id.
std::vector<Found> DevicesOf(const os::Root& root, const std::string& resource,
                             const AscendConfig& config, const Chips& chips, const OwnVnpus& own,
                             const std::map<std::string, Found>& before);

// Whether the bus has a chip, whatever its driver.
bool HasChip(const os::Root& root);

}  // namespace tessera::ascend
