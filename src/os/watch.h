// SPDX-License-Identifier: Apache-2.0
// Watches directories with inotify. It reports that something changed, not what: inotify may
// overflow, so the listener reads the directory again. A directory that is missing or replaced is
// found by polling. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "os/alarm.h"
#include "os/fd.h"
#include "os/loop.h"

namespace tessera::os {

// The polling interval of watched paths, as a fallback.
inline constexpr Duration kRestingPoll{30'000};

// The time until the next poll: `poll`, or at rest the next beat of kRestingPoll if that is rarer.
inline Duration NextPoll(Duration poll, bool rest) {
  return rest && poll <= kRestingPoll ? UntilBeat(kRestingPoll) : poll;
}

class DirectoryWatch {
 public:
  // Calls `changed` on the loop after an entry of a watched directory was created, removed, renamed
  // or written and closed. Also after an overflow, and when a watched directory appeared or
  // disappeared. Changes that come together make one call. While a directory is missing, watches
  // are checked every `poll`, otherwise every kRestingPoll. The kernel does not report some
  // changes, such as a mount over a directory.
  static Result<std::unique_ptr<DirectoryWatch>> Make(Loop& loop, Duration poll,
                                                      std::function<void()> changed);

  // Watches exactly these directories from now on. Missing ones are watched once they appear.
  void Watch(std::set<std::string> directories);

 private:
  DirectoryWatch(Loop& loop, Duration poll, Fd inotify, std::function<void()> changed);
  void Drain();
  void PollAgain();
  // Adds and renews watches. True if one appeared or disappeared.
  bool Renew();

  Fd inotify_;
  std::function<void()> changed_;
  std::map<std::string, int> watched_;  // watch descriptors; -1 while the directory is missing
  Loop& loop_;
  const Duration poll_;
  Loop::Handle readable_;
  Loop::Handle next_poll_;
};

}  // namespace tessera::os
