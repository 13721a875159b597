// SPDX-License-Identifier: Apache-2.0
// For tests of backends: records their own reports, and waits for them.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/backend.h"
#include "os/loop.h"

namespace tessera {

// Used on the loop's thread, on which the backends under test report.
class Recorder : public BackendEvents {
 public:
  explicit Recorder(os::Loop& loop) : loop_(loop) {}
  void RescanSoon() override {
    ++rescans;
    loop_.Stop();
  }
  void Report(const DeviceKey& key, Evidence evidence) override {
    loop_.Stop();
    if (evidence.kind == EvidenceKind::kReset) return reports.push_back(key.Text() + " reset");
    reports.push_back(
        fmt::format("{} {} {}", key.Text(), ReasonName(evidence.reason), evidence.detail));
    EXPECT_EQ(evidence.kind, EvidenceKind::kFatal);
    EXPECT_EQ(evidence.source, EvidenceSource::kEvent);
  }

  // Runs the loop until another request for a scan.
  void AwaitRescan() {
    Await([this] { return static_cast<size_t>(rescans); });
  }
  // Runs the loop until any new request or report.
  void AwaitNews() {
    Await([this] { return static_cast<size_t>(rescans) + reports.size(); });
  }

  int rescans = 0;
  std::vector<std::string> reports;

 private:
  static constexpr Duration kPatience{10'000};  // a test that waits so long fails

  template <class F>
  void Await(F count) {
    bool late = false;
    const os::Loop::Handle timeout = loop_.After(kPatience, [&] {
      late = true;
      loop_.Stop();
    });
    for (const size_t before = count(); count() == before && !late;) loop_.Run();
    EXPECT_FALSE(late) << "nothing was heard";
  }

  os::Loop& loop_;
};

// "bad check-failed ECC error", or just "good".
inline std::string Say(const Evidence& evidence) {
  static constexpr std::string_view kKinds[] = {"good", "bad", "fatal", "unknown"};
  const std::string_view kind = kKinds[static_cast<size_t>(evidence.kind)];
  if (evidence.kind == EvidenceKind::kGood) return std::string(kind);
  return fmt::format("{} {} {}", kind, ReasonName(evidence.reason), evidence.detail);
}

}  // namespace tessera
