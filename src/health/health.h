// SPDX-License-Identifier: Apache-2.0
// The health of a device: evidence from any source goes through one state machine, and the verdict
// that comes out decides whether the device is offered. Pure; plain data; any thread.
//
//   unverified --good--> healthy --bad--> suspect --bad x n--> unhealthy --good--> recovering
//                           ^               |  \--good--> healthy    ^--bad----------/  |
//                           \-------------------------good for long enough--------------/
//   fatal evidence leads from any state to unhealthy at once, and so does bad evidence from
//   unverified: such a device is not offered anyway. Where it names a remedy, good answers count
//   only after that.
//
// A good answer does not wipe out earlier bad ones: three failures within the window count,
// whatever passed in between. A fall is a way from offered (healthy, suspect) to unhealthy, which
// is what kubelet and pods feel; a recovery that fails begins anew, but is no fall.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace tessera {

enum class EvidenceKind : uint8_t {
  kGood,     // a check passed
  kBad,      // a check failed: counts, until enough of them came within the window
  kFatal,    // the device is out: an event that needs no second opinion
  kUnknown,  // a check gave no answer: counts like kBad; unknown is not healthy
  kReset,    // the device was reset: the remedy for some; says nothing of how it is
};

enum class EvidenceSource : uint8_t { kCheck, kEvent, kScan, kCall };

// What must have happened before good answers count again; the stronger is the greater.
enum class Remedy : uint8_t {
  kNone,    // nothing: good answers for long enough
  kReset,   // a reset of the device
  kReboot,  // a reboot of the node, with which all verdicts end
};
std::string_view RemedyName(Remedy remedy);  // "none", "reset", "reboot"
std::optional<Remedy> RemedyFromName(std::string_view name);

// What somebody observed about a device.
struct Evidence {
  EvidenceKind kind = EvidenceKind::kUnknown;
  EvidenceSource source = EvidenceSource::kCheck;
  Reason reason = Reason::kCheckFailed;  // why it is not good; meaningless when kGood
  std::string detail;                    // particulars for people: "injected failure"
  // Of fatal evidence: what it takes to bring the device back, and for how long it stays out
  // whatever checks say.
  Remedy remedy = Remedy::kNone;
  Duration probation{0};
};

enum class HealthState : uint8_t { kUnverified, kHealthy, kSuspect, kUnhealthy, kRecovering };
std::string_view HealthStateName(HealthState state);  // "unverified", "healthy", ...
std::optional<HealthState> HealthStateFromName(std::string_view name);

// The times and counts of the state machine; all configurable (health.* in the configuration).
struct HealthPolicy {
  int failures = 3;  // bad answers within `window` that make a suspect unhealthy
  Duration window{60'000};
  int passes = 2;             // good answers in a row that a recovery needs
  Duration recovery{10'000};  // and for how long nothing bad may come
  int flaps = 3;              // falls within `flap_window` that count as flapping; 0: none do
  Duration flap_window{600'000};
  Duration hold{60'000};  // a flapping device stays out so long; doubles per fall
  Duration hold_limit{1'800'000};
  bool operator==(const HealthPolicy&) const = default;
};

// The state of one device. Times are steady, so a verdict is good for one boot.
struct Verdict {
  HealthState state = HealthState::kUnverified;
  Reason reason = Reason::kNotChecked;  // why it is not healthy; meaningless when it is
  std::string detail;                   // particulars, at most kDetailLimit bytes
  Steady since{};                       // when this state began
  int passes = 0;                       // good answers in a row; not counted beyond the policy's
  std::vector<Steady> failures;         // bad answers within the window, oldest first
  std::vector<Steady> falls;            // falls within the flap window, oldest first
  Steady held_until{};                  // no recovery before; for flapping and on probation
  Remedy remedy = Remedy::kNone;        // no recovery without

  // Whether kubelet is told Healthy: healthy and suspect devices are.
  bool offered() const { return state == HealthState::kHealthy || state == HealthState::kSuspect; }
  bool operator==(const Verdict&) const = default;
};

inline constexpr size_t kDetailLimit = 256;

// The verdict after one more observation. Evidence that changes nothing leaves `since` as it is.
Verdict Judge(const Verdict& before, const Evidence& evidence, const HealthPolicy& policy,
              Steady now);

// A device taken out by hand. It lives beside the verdict: across restarts and boots.
struct Cordon {
  std::string reason;  // the person's own words
  Wall since{};
  bool operator==(const Cordon&) const = default;
};

}  // namespace tessera
