// SPDX-License-Identifier: Apache-2.0
// What HAMi's scheduler chose for the containers of a pod: the values of Vendor::pod_allocated, all
// of it, and of Vendor::pod_to_allocate, what is still to be handed out. One entry a container, in
// the order of the pod's init containers and then the others; but at which place an entry stands
// says nothing, since HAMi 2.10 leaves out containers without a GPU (requests.h). Pure; plain data;
// any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::hami {

struct PodDevice {
  std::string uuid;    // of the card; a MIG device's is in kPodMigAllocations
  std::string type{};  // Vendor::word, not the model
  int32_t memory = 0;  // MiB
  int32_t cores = 0;   // percent; 0: no limit
  bool operator==(const PodDevice&) const = default;
};

// A container's; empty for one that gets nothing, or has been given its own.
using Entry = std::vector<PodDevice>;

// "uuid,type,memory,cores:" a device, ';' behind each entry. UUIDs and types have none of ",:;".
std::string EncodePodDevices(std::span<const Entry> entries);
// The last ';' may be missing, others may be too many: empty entries. Devices without a UUID are
// none, as the oldest releases wrote them for a container without a GPU; further fields are passed
// over, so is what has no ','. kInvalid where a device has fewer than four fields or a number is
// none.
Result<std::vector<Entry>> DecodePodDevices(std::string_view text);

// The text without `entry`: of those that are like it, the first is emptied. As HAMi writes it: one
// ';' more than before. kInvalid where there is none (any more).
Result<std::string> Consume(std::string_view text, const Entry& entry);

// The text (Vendor::pod_to_allocate) once the entries in `given` are handed out, of all that are
// `allocated` (Vendor::pod_allocated). Whoever says it again changes nothing, though two containers
// may have entries that are alike: of those, as many stay as are not given yet.
Result<std::string> ConsumeGiven(std::string_view text, std::string_view allocated,
                                 std::span<const Entry> given);
// How many entries of the text have devices.
Result<size_t> EntriesLeft(std::string_view text);

}  // namespace tessera::hami
