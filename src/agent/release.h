// SPDX-License-Identifier: Apache-2.0
// The release of the vendors' libraries by a person's order ('tessera release'), so that a device
// can be reset or a driver replaced: until a time, or until it is ended. It stands in a file beside
// the state, for this boot: an agent that is started meanwhile opens none either. One thread: the
// loop's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/resource_set.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "os/loop.h"

namespace tessera::agent {

// The vendors' libraries that are open, as a release has to do with them.
struct VendorLibraries {
  // All are to be let go of, with this to be said of the devices; nothing: to be taken up again.
  std::function<void(std::optional<Error>)> set_released;
  std::function<std::vector<std::string>()> released;  // the resources that hold none by that order
  std::function<std::vector<std::string>()> held_by;   // what keeps libraries open all the same
};

// Of all that is served. `resources` outlives it.
VendorLibraries LibrariesOf(ResourceSet& resources);

class Release {
 public:
  static constexpr Duration kLongest{3'600'000};

  // The loop outlives it; `path` is the file's.
  Release(os::Loop& loop, VendorLibraries libraries, std::string path);

  // Goes on with the one that an earlier process of this boot was told of. Before resources are
  // served.
  void Restore(const std::string& boot_id);
  // For so long from now on, whatever was ordered before. kInvalid; kNotFound when no resource has
  // a library to let go of.
  Status Begin(Duration time);
  // kNotFound when there is none.
  Status End();
  bool under_way() const { return until_.has_value(); }
  // For people: until when, of what, and what keeps libraries open all the same.
  json::Value Page() const;

 private:
  void Hold(Steady until);
  void Save() const;

  os::Loop& loop_;
  const VendorLibraries libraries_;
  const std::string path_;
  std::string boot_id_;
  std::optional<Steady> until_;
  std::string until_text_;
  os::Loop::Handle timer_;
};

}  // namespace tessera::agent
