// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod ask for, and whether what HAMi's scheduler wrote fits that: an
// annotation can be written by whoever may change the pod, and HAMi 2.10 writes it so that the
// places of its entries say nothing. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "hami/names.h"
#include "hami/node_register.h"
#include "hami/pod_devices.h"

namespace tessera::hami {

enum class ContainerKind : uint8_t {
  kInit,     // ends before the next one starts
  kSidecar,  // an init container that goes on (restartPolicy: Always)
  kApp,
};

// Of a pod, as its specification has it; a pod's are in the order of the specification.
struct Container {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  std::map<std::string, std::string, std::less<>> limits{};  // quantities by resource
  std::map<std::string, std::string, std::less<>> requests{};
};

// How a site names the resources, and what holds where nothing is said.
struct RequestRules {
  std::string count_name{kCountResource};
  std::string memory_name{kMemoryResource};
  std::string percentage_name{kPercentageResource};
  std::string cores_name{kCoresResource};
  int32_t default_memory = 0;  // MiB; 0: all of the card
  int32_t default_cores = 0;   // percent; 0: no limit
  int32_t memory_factor = 1;   // what a request for memory counts
};

// Of one container, for each of its cards.
struct Request {
  int32_t count = 0;       // cards
  int32_t memory = 0;      // MiB; 0: by percentage
  int32_t percentage = 0;  // 1 to 100; 0: not said, and memory is
  int32_t cores = 0;       // 0 to 100 percent; 0: no limit
  bool operator==(const Request&) const = default;

  // In MiB, on a card with so much. The fraction is cut off.
  int32_t MemoryOn(int32_t total) const;
};

// A limit counts before a request. Nothing for a container that asks for no card. kInvalid for one
// that HAMi passes over, although it asks: the memory or the count is not a number below 2^31.
Result<std::optional<Request>> Resolve(const Container& container, const RequestRules& rules);

// The entries of all that was allocated to the pod (kPodAllocated: of kPodToAllocate, some may be
// gone already), one for each container: the first that is not empty belongs to the first that
// asks, init containers and sidecars before the others. kInvalid when there are more or fewer than
// containers that ask. Those that HAMi passes over have none, as the ones that do not ask.
Result<std::vector<Entry>> EntriesByContainer(std::span<const Container> containers,
                                              const RequestRules& rules,
                                              std::span<const Entry> allocated);

// Whether the entry gives the container no more than it asks for: as many cards as it asks for, all
// of them of this node and different, each with no more memory and cores than that. On a card in
// MIG mode an entry is one of the card's profiles, which may be larger. kInvalid with what does not
// fit.
Status CheckEntry(const Entry& entry, const Request& request,
                  std::span<const RegisteredDevice> cards);

// What of an entry that fits (CheckEntry) is less than the container asks for, as a message says
// it; empty: nothing. A card in MIG mode gives no less.
std::string LessThanAsked(const Entry& entry, const Request& request,
                          std::span<const RegisteredDevice> cards);

struct CardUsage {
  int64_t slots = 0;
  int64_t memory = 0;  // MiB
  int64_t cores = 0;   // percent
  bool operator==(const CardUsage&) const = default;
};

// What a pod takes of each card as long as it lives, by UUID: the larger of what its init
// containers need at a time and what its app containers need together, sidecars added to both.
// `entries` are as many as `containers`. Of a pod whose init containers have ended, leave those
// out.
std::map<std::string, CardUsage> UsageByCard(std::span<const Container> containers,
                                             std::span<const Entry> entries);

}  // namespace tessera::hami
