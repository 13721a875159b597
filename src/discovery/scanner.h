// SPDX-License-Identifier: Apache-2.0
// Has one source's backend look for its devices, off the loop: at once, when something was plugged,
// and every minute, on the beat (os/alarm.h); after a failure sooner, less and less so. One scan at
// a time; a scan that hangs costs one thread. One thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/backoff.h"
#include "os/alarm.h"
#include "os/loop.h"
#include "os/mailbox.h"
#include "os/worker.h"

namespace tessera {

class Scanner {
 public:
  struct ScanResult {
    std::vector<Device> devices{};
    std::shared_ptr<const cdi::Parts> cdi{};  // what their kind says for CDI documents, if anything
  };
  // What a scan found, or why it failed as a whole; called on the loop's thread. It may destroy the
  // scanner.
  using Sink = std::function<void(Result<ScanResult>)>;
  // After scans that failed as a whole.
  static constexpr Backoff kRetries{Duration(1'000), Duration(10'000)};

  // The first scan begins at once.
  Scanner(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend, Sink sink,
          Backoff retries = kRetries);

  // Another scan soon: several such wishes make one scan, and wishes that never end do not put it
  // off.
  void ScanSoon();
  bool scanning() const { return scanning_; }
  // How long after the last scan the next one comes by itself if that failed; zero: it went well.
  Duration retry() const { return retries_.pause(); }

 private:
  void Scan();
  void Scanned(const Result<ScanResult>& found);

  os::Workers& workers_;
  const std::shared_ptr<Backend> backend_;
  const Sink sink_;
  bool scanning_ = false;
  bool again_ = false;  // asked for while one was under way
  Backoff retries_;
  os::Alarm next_;
  os::Mailbox<Scanner> mailbox_;
};

}  // namespace tessera
