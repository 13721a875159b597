// SPDX-License-Identifier: Apache-2.0
#include "discovery/scanner.h"

namespace tessera {
namespace {

constexpr Duration kInterval{60'000};  // the latest that a missed hot-plug event is found
constexpr Duration kSettle{20};        // hot-plug events within it make one scan
constexpr Duration kThreadRetry{1'000};

Result<Scanner::ScanResult> ScanWith(Backend& backend) {
  Scanner::ScanResult found{.devices = TRY(backend.Scan())};
  found.cdi = backend.DescribeForCdi(found.devices);
  return found;
}

}  // namespace

Scanner::Scanner(os::Loop& loop, os::Workers& workers, std::shared_ptr<Backend> backend, Sink sink,
                 Backoff retries)
    : workers_(workers),
      backend_(std::move(backend)),
      sink_(std::move(sink)),
      retries_(retries),
      next_(loop, [this] { Scan(); }),
      mailbox_(loop, *this) {
  Scan();
}

void Scanner::ScanSoon() {
  again_ = true;
  if (!scanning_) next_.RingWithin(kSettle);
}

void Scanner::Scan() {
  next_.RingWithin(kThreadRetry);  // the retry, in case no thread can be started
  if (scanning_) return workers_.GoOn();
  scanning_ = true;
  again_ = false;
  workers_.Run([backend = backend_, scanned = mailbox_.Bind(&Scanner::Scanned)] {
    scanned(ScanWith(*backend));
  });
}

void Scanner::Scanned(const Result<ScanResult>& found) {
  scanning_ = false;
  next_.Cancel();
  if (found) retries_.Succeeded();
  const Duration pause = found ? os::UntilBeat(kInterval) : retries_.Failed();
  next_.RingWithin(again_ ? kSettle : pause);
  const Sink sink = sink_;  // a copy: the call may destroy the scanner
  sink(found);
}

}  // namespace tessera
