// SPDX-License-Identifier: Apache-2.0
// inotify on directories. Tells that something changed, not what: inotify may overflow, and the
// truth is in the directory, so the listener looks again. A directory that does not exist yet, or
// is replaced by another, is found again by polling. One thread (the loop's).
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

// What is watched for changes is looked at so often all the same.
inline constexpr Duration kRestingPoll{30'000};

// From now to the next look at what is polled every `poll`; at rest, to the next beat of
// kRestingPoll, where that is rarer.
inline Duration NextPoll(Duration poll, bool rest) {
  return rest && poll <= kRestingPoll ? UntilBeat(kRestingPoll) : poll;
}

class DirectoryWatch {
 public:
  // `changed` runs on the loop after anything in a watched directory was created, removed, renamed
  // or written and closed, after an overflow, and when a watched directory itself came or went;
  // several changes at once make one call. `poll` is how often the directories are compared with
  // what is watched while one is missing; otherwise that is done every kRestingPoll, for what the
  // kernel does not tell of, such as a mount over one of them.
  static Result<std::unique_ptr<DirectoryWatch>> Make(Loop& loop, Duration poll,
                                                      std::function<void()> changed);

  // Watches exactly these directories from now on; missing ones are watched when they appear.
  void Watch(std::set<std::string> directories);

 private:
  DirectoryWatch(Loop& loop, Duration poll, Fd inotify, std::function<void()> changed);
  void Drain();
  void PollAgain();
  // Adds and renews watches; true when one came or went.
  bool Renew();

  Fd inotify_;
  std::function<void()> changed_;
  std::map<std::string, int> watched_;  // inotify's descriptors, -1 while the directory is missing
  Loop& loop_;
  const Duration poll_;
  Loop::Handle readable_;
  Loop::Handle next_poll_;
};

}  // namespace tessera::os
