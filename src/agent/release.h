// SPDX-License-Identifier: Apache-2.0
// The release of the vendors' libraries by a person's order ('tessera release'), so that a device
// can be reset or a driver replaced: until a time, or until it is ended. It stands in a file beside
// the state, for this boot: an agent that is started meanwhile opens none either. One thread: the
// loop's.
#pragma once

#include <optional>
#include <string>

#include "agent/resource_set.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "os/loop.h"

namespace tessera::agent {

class Release {
 public:
  static constexpr Duration kLongest{3'600'000};

  // Both outlive it; `path` is the file's.
  Release(os::Loop& loop, ResourceSet& resources, std::string path);

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
  ResourceSet& resources_;
  const std::string path_;
  std::string boot_id_;
  std::optional<Steady> until_;
  std::string until_text_;
  os::Loop::Handle timer_;
};

}  // namespace tessera::agent
