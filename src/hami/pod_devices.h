// SPDX-License-Identifier: Apache-2.0
// The devices that HAMi's scheduler chose for a pod's containers. Vendor::pod_allocated has all of
// them; Vendor::pod_to_allocate has those that are not yet granted. There is one entry per
// container, init containers first. An entry's position does not identify its container, because
// HAMi 2.10 leaves out containers without a GPU (requests.h). Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::hami {

struct PodDevice {
  std::string uuid;    // the card's; a MIG device's is in kPodMigAllocations
  std::string type{};  // Vendor::word; some schedulers write the model
  int32_t memory = 0;  // MiB
  int32_t cores = 0;   // percent; 0: no limit
  bool operator==(const PodDevice&) const = default;
};

// One container's devices; empty if it gets none, or has received them.
using Entry = std::vector<PodDevice>;

// "uuid,type,memory,cores:" per device, ';' after each entry. UUIDs and types contain none of
// ",:;".
std::string EncodePodDevices(std::span<const Entry> entries);
// The last ';' may be missing; extra ones are empty entries. Devices without a UUID are dropped:
// the oldest releases wrote them for containers without a GPU. Further fields are ignored, and so
// are parts without ','. kInvalid if a device has fewer than four fields or an unreadable number.
Result<std::vector<Entry>> DecodePodDevices(std::string_view text);

// The text without `entry`: empties the first equal entry. Like HAMi, adds one ';'. kInvalid if no
// equal entry is left.
Result<std::string> Consume(std::string_view text, const Entry& entry);

// Vendor::pod_to_allocate after the entries of `given` are granted; `allocated` is
// Vendor::pod_allocated. Repeated calls do not change the result. If several containers have equal
// entries, as many stay as are not granted yet.
Result<std::string> ConsumeGiven(std::string_view text, std::string_view allocated,
                                 std::span<const Entry> given);
// The number of entries with devices.
Result<size_t> EntriesLeft(std::string_view text);

}  // namespace tessera::hami
