// SPDX-License-Identifier: Apache-2.0
// Has one source's backend look for its devices, off the loop: at once, when something was plugged,
// and every minute, on the beat (os/alarm.h); after a failure sooner, less and less so, down to
// once in ten seconds. One scan at a time; a scan that hangs costs one thread. One thread: the
// loop's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera::agent {

class Scanner {
 public:
  // What a scan found, or why it failed as a whole; called on the loop's thread.
  using Sink = std::function<void(Result<std::vector<Device>>)>;

  // The first scan begins at once.
  Scanner(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend, Sink sink);

  // Another scan soon: several such wishes make one scan, and wishes that never end do not put it
  // off.
  void Soon();
  bool scanning() const { return scanning_; }

 private:
  void Scan();
  void Scanned(const Result<std::vector<Device>>& devices);

  os::Workers& workers_;
  const std::shared_ptr<Backend> backend_;
  const Sink sink_;
  bool scanning_ = false;
  bool again_ = false;  // asked for while one was under way
  Duration retry_{0};   // the wait before the last repeat of a scan that failed; zero: it went well
  os::Alarm next_;
  os::Mailbox<Scanner> mailbox_;
};

}  // namespace tessera::agent
