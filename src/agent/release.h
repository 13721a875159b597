// SPDX-License-Identifier: Apache-2.0
// Closes the vendors' libraries by a person's order ('tessera release'), so that a device can be
// reset or a driver replaced. It lasts until a time, or until a person ends it. A file in the state
// directory keeps it for this boot, so an agent that restarts does not open the libraries. Owned by
// the agent. One thread: the loop's.
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

// Access to the vendors' open libraries.
struct VendorLibraries {
  // Closes all libraries, with this error for their devices; nothing: opens them again.
  std::function<void(std::optional<Error>)> set_released;
  std::function<std::vector<std::string>()> released;  // resources with a library closed by order
  std::function<std::vector<std::string>()> held_by;  // users that keep libraries open all the same
};

// The libraries of all served resources. `resources` outlives it.
VendorLibraries LibrariesOf(ResourceSet& resources);

class Release {
 public:
  static constexpr Duration kLongest{3'600'000};

  // The loop outlives it. `path`: the file of the order.
  Release(os::Loop& loop, VendorLibraries libraries, std::string path);

  // Resumes the release of an earlier process of this boot. Called before resources are served.
  void Restore(const std::string& boot_id);
  // Replaces any earlier order; lasts for `time` from now. kInvalid if `time` is out of range;
  // kNotFound if no resource has a library.
  Status Begin(Duration time);
  // kNotFound if there is no release.
  Status End();
  bool under_way() const { return until_.has_value(); }
  // For people: the end, the resources, and the users that keep libraries open.
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
