// SPDX-License-Identifier: Apache-2.0
// The link of a function, by its RDMA device's ports or its interface, and counters that tell of
// trouble between two looks. Source: Documentation/ABI/stable/sysfs-class-infiniband and
// testing/sysfs-bus-pci-devices-aer_stats of Linux. Any thread; reads sysfs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backend/rdma/functions.h"
#include "backend/sysfs.h"
#include "base/mutex.h"
#include "os/files.h"

namespace tessera::rdma {

struct LinkState {
  enum class Kind : uint8_t {
    kUp,
    kOff,       // a person has set it down
    kDown,      // no signal, or no partner
    kNoFabric,  // InfiniBand: no subnet manager has set it up
    kNone,      // the function has neither an RDMA device nor an interface here
    kUnknown,   // it cannot be read
  };
  Kind kind = Kind::kNone;
  std::string text{};  // for people: "port 1 of mlx5_1 is DOWN (Polling)"
  bool operator==(const LinkState&) const = default;
};
// A port tells the truth wherever its interface is. One of several with an interface here hides no
// other.
LinkState ReadLink(const os::Root& root, const Function& function);

// The number in a text such as "4: ACTIVE"; nothing, if it has none.
std::optional<int> ParseState(std::string_view text);
// The errors in the text of aer_dev_fatal; nothing, if the text is another one.
std::optional<uint64_t> ParseFatal(std::string_view text);

// `function`: its directory.
std::optional<uint64_t> ReadFatal(const sysfs::Directory& function);
// How often the links of the function went down, since its driver was loaded.
std::optional<uint64_t> ReadLinkDowned(const os::Root& root, const Function& function);

// Tells how much each counter has grown since its last look. The first look tells nothing, as does
// a counter that begins anew. Any thread.
class Growth {
 public:
  uint64_t Look(const std::string& counter, std::optional<uint64_t> now);

 private:
  Mutex mutex_;
  std::map<std::string, uint64_t> last_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera::rdma
