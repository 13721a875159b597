// SPDX-License-Identifier: Apache-2.0
// A container's request for each of its devices, and the check of a placement against it. Any user
// who may change the pod can write its annotation, so a placement is never trusted. Pure. Plain
// data. Any thread.
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

// The site's resource names, and the defaults.
struct RequestRules {
  std::string count_name;
  std::string memory_name;
  std::string percentage_name;
  std::string cores_name;
  int32_t default_memory = 0;  // MiB; 0: all of the device
  int32_t default_cores = 0;   // percent; 0: no limit
  int32_t memory_factor = 1;   // MiB for each requested unit of memory

  // The available sizes in MiB, ascending; the last is a whole device. Empty: any size. A request
  // gets the next larger size. One above the last size gets the last, up to `most_memory`.
  std::vector<int32_t> sizes{};
  int32_t most_memory = 0;
  // Devices come in multiples of this. A request for one device gets this many.
  int32_t count_step = 1;
  // A container with several devices gets each whole.
  bool several_whole = false;
  // A container with several devices gets all of their compute time: 100 cores for each.
  bool several_cores = false;
  // The condition for cores by percent, for messages. Empty: none.
  std::string cores_need{};
};

// The available size for `memory` MiB. Nothing above `most_memory`.
std::optional<int32_t> SizeFor(int64_t memory, const RequestRules& rules);

// The number of devices for a requested count.
inline int64_t CountFor(int64_t asked, const RequestRules& rules) {
  return asked == 1 ? rules.count_step : asked;
}

// The request of one container, for each of its devices.
struct Request {
  int32_t count = 0;       // devices
  int32_t memory = 0;      // MiB; 0: by percentage
  int32_t percentage = 0;  // 1 to 100; 0: `memory` counts, if set
  int32_t cores = 0;       // 0 to 100 percent; 0: no limit
  bool operator==(const Request&) const = default;

  // False for devices without a memory resource.
  bool HasSize() const { return memory > 0 || percentage > 0; }
  // The requested MiB on a device with `total` MiB, truncated.
  int32_t MemoryOn(int32_t total) const;
};

// A limit overrides a request. Nothing if the container requests no device. kInvalid if memory or
// count is no number below 2^31, or no size fits (SizeFor).
Result<std::optional<Request>> Resolve(const kube::Container& container, const RequestRules& rules);

// A device's capacity for requests. The scheduler's view and the grantable maximum are the same.
struct DeviceCapacity {
  std::string device;      // device id
  int32_t containers = 0;  // maximum at a time
  int32_t memory = 0;      // MiB; 0: unknown
  int32_t cores = 0;       // percent of its compute time, or its units
  bool has_units = false;  // `cores` are units
  bool operator==(const DeviceCapacity&) const = default;
};

// The requested compute time on a device of so many units: at least one of them. Units have no
// "no limit", so 0 percent are all, as if the container asked for none.
int32_t UnitsOf(const Request& request, int32_t units);
// The requested compute time in what the device counts.
int32_t CoresOn(const Request& request, const DeviceCapacity& capacity);

// Checks the parts against the request: the requested number of distinct devices of this node, and
// no more memory and cores on each. A misfit is kInvalid and named.
Status CheckParts(std::span<const Fraction> parts, const Request& request,
                  std::span<const DeviceCapacity> capacities);

// Describes how parts that passed CheckParts fall short of the request. Empty if they do not.
std::string LessThanAsked(std::span<const Fraction> parts, const Request& request,
                          std::span<const DeviceCapacity> capacities);

}  // namespace tessera
