// SPDX-License-Identifier: Apache-2.0
// Feedback by priority, as HAMi's monitor gives it, but for each device: while a container launches
// on a device, those of lower priority on that device wait, and a container that has its devices
// alone may use more than its share of time. The library in the container reads the two words that
// say so (limiter/time/monitor.h). Decides alone; the service writes. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "monitor/containers.h"
#include "region/region.h"

namespace tessera::monitor {

// kAuto: off while another program writes the words, such as HAMi's monitor.
enum class FeedbackMode : uint8_t { kOff, kOn, kAuto };

// The new words of one region.
struct FeedbackWrite {
  std::string file{};  // of the region
  region::MonitorWords words{};
  bool operator==(const FeedbackWrite&) const = default;
};

class Feedback {
 public:
  // A container counts as active on a device for this long after its last launch was seen.
  static constexpr Duration kLinger{1'500};
  // Another writer's write counts for this long. It takes two containers, or the only one.
  static constexpr Duration kForeign{60'000};

  explicit Feedback(FeedbackMode mode) : mode_(mode) {}

  // The words to write after a reading of all regions; made once a second.
  std::vector<FeedbackWrite> Decide(const std::vector<Container>& containers, Steady now);
  // The words that end all feedback: no container waits, and each has its share.
  std::vector<FeedbackWrite> End(const std::vector<Container>& containers) const;
  // Another program writes the words now.
  bool is_foreign(Steady now) const { return now < foreign_until_; }

 private:
  struct Known {
    region::MonitorWords written{};          // as this object wrote them last
    std::map<std::string, Steady> active{};  // by device: when a launch was last seen
    std::optional<Steady> foreign_at{};      // when another program's write was last seen
  };

  void Observe(const Container& container, Known& known, Steady now) const;
  bool IsForeign(Steady now) const;

  FeedbackMode mode_;
  std::map<std::string, Known, std::less<>> known_;  // by file
  Steady foreign_until_{};
};

}  // namespace tessera::monitor
