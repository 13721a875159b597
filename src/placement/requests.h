// SPDX-License-Identifier: Apache-2.0
// What a container asks for of each of its devices, and whether what was chosen for it fits that: a
// pod's annotation can be written by whoever may change the pod. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grant/fraction.h"
#include "kube/objects/pod.h"

namespace tessera {

// How a site names the resources, and what holds where nothing is said.
struct RequestRules {
  std::string count_name;
  std::string memory_name;
  std::string percentage_name;
  std::string cores_name;
  int32_t default_memory = 0;  // MiB; 0: all of the device
  int32_t default_cores = 0;   // percent; 0: no limit
  int32_t memory_factor = 1;   // what a request for memory counts

  // MiB in which memory can be had, ascending; the last is all of a device. A request gets the next
  // larger one, and one for up to `most_memory` the last. Empty: memory can be had in any size.
  std::vector<int32_t> sizes{};
  int32_t most_memory = 0;
  // Devices can be had in multiples of so many. One is taken for so many.
  int32_t count_step = 1;
  // Who asks for several devices has all of each.
  bool several_whole = false;
  // Who asks for several devices has all of their time: of cores, 100 times as many.
  bool several_cores = false;
  // What a pod must say to have cores by percent, in words; empty: nothing.
  std::string cores_need{};
};

// The size in which so much memory can be had, by rules that have sizes. Nothing where it is more
// than `most_memory`.
std::optional<int32_t> SizeFor(int64_t memory, const RequestRules& rules);

// How many devices a container gets that asks for so many.
inline int64_t CountFor(int64_t asked, const RequestRules& rules) {
  return asked == 1 ? rules.count_step : asked;
}

// Of one container, for each of its devices.
struct Request {
  int32_t count = 0;       // devices
  int32_t memory = 0;      // MiB; 0: by percentage
  int32_t percentage = 0;  // 1 to 100; 0: not said, and memory is, unless there is no size
  int32_t cores = 0;       // 0 to 100 percent; 0: no limit
  bool operator==(const Request&) const = default;

  // Whether it is for so much memory: of devices without a resource for memory it is not.
  bool HasSize() const { return memory > 0 || percentage > 0; }
  // In MiB, on a device with so much. The fraction is cut off.
  int32_t MemoryOn(int32_t total) const;
};

// A limit counts before a request. Nothing for a container that asks for no device. kInvalid for
// one whose memory or count is not a number below 2^31, or has no size (SizeFor).
Result<std::optional<Request>> Resolve(const kube::Container& container, const RequestRules& rules);

// A device as it can be asked for: what a scheduler is told of it and what is granted of it at most
// are the same.
struct DeviceCapacity {
  std::string device;      // its id
  int32_t containers = 0;  // that may share it at a time
  int32_t memory = 0;      // MiB; 0: not known
  int32_t cores = 0;       // percent of its compute time
  bool operator==(const DeviceCapacity&) const = default;
};

// Whether a container gets no more than it asks for: as many devices as it asks for, all of them of
// this node and different, each with no more memory and cores than that. kInvalid with what does
// not fit.
Status CheckParts(std::span<const Fraction> parts, const Request& request,
                  std::span<const DeviceCapacity> capacities);

// What of parts that fit (CheckParts) is less than the container asks for, as a message says it;
// empty: nothing.
std::string LessThanAsked(std::span<const Fraction> parts, const Request& request,
                          std::span<const DeviceCapacity> capacities);

}  // namespace tessera
