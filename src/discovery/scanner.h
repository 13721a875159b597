// SPDX-License-Identifier: Apache-2.0
// Runs the scans of one backend, off the loop: at once, after hot-plug, and every minute on the
// beat (os/alarm.h). After a failure the next scan comes sooner, with growing pauses. One scan runs
// at a time; a scan that hangs costs one thread. Owned by Discovery or Family. One thread: the
// loop's.
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
    std::shared_ptr<const cdi::Parts> cdi{};  // as Backend::DescribeForCdi; null: no more
  };
  // Gets what a scan found, or why it failed as a whole; called on the loop's thread. The callee
  // may destroy the scanner.
  using Sink = std::function<void(Result<ScanResult>)>;
  // The pauses after scans that failed as a whole.
  static constexpr Backoff kRetries{Duration(1'000), Duration(10'000)};

  // The first scan begins at once.
  Scanner(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend, Sink sink,
          Backoff retries = kRetries);

  // Asks for another scan soon. Several requests make one scan, and repeated requests do not delay
  // it.
  void ScanSoon();
  bool scanning() const { return scanning_; }
  // The pause before the next scan if the last one failed; zero: it succeeded.
  Duration retry() const { return retries_.pause(); }

 private:
  void Scan();
  void Scanned(const Result<ScanResult>& found);

  os::Workers& workers_;
  const std::shared_ptr<Backend> backend_;
  const Sink sink_;
  bool scanning_ = false;
  bool again_ = false;  // asked for while one was running
  Backoff retries_;
  os::Alarm next_;
  os::Mailbox<Scanner> mailbox_;
};

}  // namespace tessera
